"""Dead letters: rejected, expired or dropped messages on their way to the dead letter exchange.

Owns them until they have arrived, also the ones that cannot be forwarded. Does not know why a message died but by the
reason it is given.
"""
