"""Streams listed, looked at, read and truncated."""
