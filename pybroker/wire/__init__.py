"""AMQP 0-9-1 octets, sans-IO: frames, methods, contents. Knows no broker and no sockets."""
