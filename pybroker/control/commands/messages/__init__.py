"""Messages looked at, got, published, moved, traced."""
