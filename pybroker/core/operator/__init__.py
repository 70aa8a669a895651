"""Messages got and published by operators, as a client would: with their permissions, and with an answer at the end.

Owns neither queues nor routes: it calls them as the methods of AMQP do. Does not know commands.
"""
