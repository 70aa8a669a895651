"""Reading queries: a queue browsed in batch, or drained into a spool and read as a stream.

Owns when a message is acknowledged. Does not know how its octets become columns (`parse/`).
"""
