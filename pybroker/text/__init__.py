"""Text that people and programs type and read: durations, conditions on rows, bodies, metrics for Prometheus."""
