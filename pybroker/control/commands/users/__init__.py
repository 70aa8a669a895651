"""Users, their passwords, tags and limits."""
