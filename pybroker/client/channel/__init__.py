"""A channel: its methods, publishes and their confirms, deliveries and their callbacks.

Owns what is in flight on one channel. Does not know threads of the connection, nor how a lost one comes back.
"""
