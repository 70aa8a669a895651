"""Text that people type and programs read: durations, conditions on rows, metrics for Prometheus."""
