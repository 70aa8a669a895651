"""Feature flags and deprecated features."""
