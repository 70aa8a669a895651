"""Help for people: usage, the man page, completion, and what RabbitMQ has besides.

Owns these texts but for the commands' own. Loaded only when somebody asks.
"""
