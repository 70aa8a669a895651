"""Dead letters: rejected, expired or dropped messages on their way to the dead letter exchange.

Owns them until they have arrived, and those that cannot go. Does not know why a message died but by the reason it is
given.
"""
