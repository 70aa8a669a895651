"""Octets of the stream protocol, sans-IO. Knows no streams and no sockets."""
