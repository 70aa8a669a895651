"""Logs and definitions. Knows octets and seqs, not messages. Today the null engine only."""
