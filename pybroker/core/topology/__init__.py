"""Exchanges and queues of a virtual host: how they are declared, checked, bound and removed, and their policies.

Owns virtual hosts, and the order of RabbitMQ's checks. Does not know how a message is routed (`routing/`), nor how a
row of the definitions is written (`metadata/`). The user who asks is an argument.
"""
