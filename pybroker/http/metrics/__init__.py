"""Metrics in Prometheus' text format: which families there are, where their figures come from, and how they read."""
