"""Sockets and the event loop. Knows sessions, not methods."""
