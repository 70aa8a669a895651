"""Messages of AMQP 1.0, as clients of streams encode them, and contents of AMQP 0-9-1: one made of the other.

As RabbitMQ does it for its streams (rabbit_msg_record). Knows no streams and no sockets.
"""
