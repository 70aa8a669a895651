"""pybroker-web: a process beside the node that answers HTTP, so that looking at the broker does not hold it up.

Owns requests, their limits, and the texts of their answers. Asks the node through a socket on which it may do nothing
that needs a tag. Knows neither queues nor the log: all figures are the node's.
"""
