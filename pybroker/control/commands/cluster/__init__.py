"""The cluster of one node, and its name."""
