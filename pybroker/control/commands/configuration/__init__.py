"""The configuration a node runs with, and what of it changes while it runs."""
