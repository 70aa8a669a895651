"""The configuration: from files, the environment and options to checked values.

Owns the table of keys, and both forms of RabbitMQ's files. Does not know what a value does; that is the broker's, and
whoever starts it.
"""
