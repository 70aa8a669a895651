"""The sockets of pybroker-web: connections, requests as they arrive, TLS, and the limits of all three.

Owns how a request is read and who waits. Does not know what is asked for.
"""
