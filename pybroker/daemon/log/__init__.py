"""The log: where its lines go, and what they look like there. Knows nothing of what is logged."""
