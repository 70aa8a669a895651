"""Messages of a queue read without touching anything: ready, unacknowledged, in memory or on disk.

Owns the order in which they are read, and what is made of them for people. Changes nothing of a queue, and does not
know commands.
"""
