"""A connection: its channels, its executor, and what it declares anew when it comes back.

Owns channel zero, recovery, and the dispatch of callbacks. Does not know what a channel's methods mean, nor sockets.
"""
