"""The engine that keeps messages on disk, while it runs.

Owns the order of batches, and when a segment is made, sealed, compacted and removed. Does not know messages but by seq
and octets, nor how a log is read at a start (`recovery/`).
"""
