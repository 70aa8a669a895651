"""Checks that scripts run: each answers by its exit code."""
