"""Pieces: messages of a stream between the node's log and the stream's own files, and those that come back at a start.

Owns what of a stream is in memory. Does not know who reads it.
"""
