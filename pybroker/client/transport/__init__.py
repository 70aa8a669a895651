"""One socket with its two threads, from the handshake until it is lost.

Owns what is read and written, and holds back peers that are too fast. Does not know what a method means.
"""
