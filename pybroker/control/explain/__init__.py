"""Why something is as it is, in sentences, each with what an operator may do.

Owns the texts for flow control and alarms. Does not know who asks, nor how the answer is shown.
"""
