"""TLS of the daemon's listeners: contexts made of options and files, and files that may change.

Owns certificates and keys while the node runs. Does not know connections, nor what is spoken on them. Only a node with
a TLS listener loads it.
"""
