"""Messages that an operator moves to another queue or exchange: put there and settled here, in one batch of the log.

Decides which messages go where, and when a move stops. Does not know how a move was asked for, nor how it is shown.
"""
