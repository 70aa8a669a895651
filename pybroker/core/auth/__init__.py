"""Users: who they are, what they may do, and how much of it.

Owns passwords, permissions and limits of users, and the rows that keep them. Does not know mechanisms (`amqp/`), nor
what is done once it is allowed.
"""
