"""Start, stop, wait for and rotate the logs of a node."""
