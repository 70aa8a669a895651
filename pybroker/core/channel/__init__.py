"""The state of a channel and of its session that deliveries, settlements, confirms and flow control share.

Owns what is unacknowledged, which publishes wait for the disk, and why a session is not read. Knows neither methods nor
sockets (`amqp/`), and queues by type alone.
"""
