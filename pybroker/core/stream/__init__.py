"""Streams: queues whose messages stay when they are read, and that are read again, by offset or by time.

Owns the offsets, what of a stream is in memory, who reads where, and when messages move from the node's log into the
stream's own files. Does not know the files (`store/streams`), nor how an offset travels to a client.
"""
