"""Moves messages of a queue to another queue or exchange: stored there and settled here in one batch of the log.

Decides which messages go where, and when a move stops. Does not know how a move is requested or displayed.
"""
