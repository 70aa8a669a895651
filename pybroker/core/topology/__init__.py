"""What a virtual host has: how it is declared, checked, bound and removed, and under which policy it is.

Owns virtual hosts, and the order of RabbitMQ's checks. Does not know how a message is routed (`routing/`), nor how a
row of the definitions is written (`metadata/`). Who asks is an argument.
"""
