"""Messages looked at, got, published."""
