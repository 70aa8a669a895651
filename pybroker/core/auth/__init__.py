"""Users: their authentication, their permissions, and their limits.

Owns passwords, permissions and limits of users, and the rows that keep them. Does not know mechanisms (`amqp/`), nor
what is done once it is allowed.
"""
