"""The configuration: from files, the environment and options to checked values.

Owns the table of keys, and both forms of RabbitMQ's files. Does not know what a value does: the broker does, and the
code that starts it.
"""
