"""Policies and operator policies."""
