"""What a node is doing and what has happened to it."""
