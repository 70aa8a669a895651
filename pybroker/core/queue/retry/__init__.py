"""Delayed retry: messages that came back to a queue and wait there until they are due.

Owns when they are due and which of their contents are in memory. Does not know why a message came back, nor how long it
is to wait: `dispatch` does.
"""
