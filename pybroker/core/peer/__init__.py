"""Peers: what connections of all protocols have in common.

Owns the outbox and its limits, heartbeats and deadlines, a connection's names, the steps of a login, and replies that
wait for the disk. Does not know frames.
"""
