"""Definitions on disk: rows by kind and key, their copies, and which of them to believe at a start.

Owns the SQLite file, the snapshots and the commit marker. Does not know what a row means to the broker.
"""
