"""The activity of a node, and its history."""
