"""Definitions exported, imported, and compared."""
