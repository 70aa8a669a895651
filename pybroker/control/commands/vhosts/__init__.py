"""Virtual hosts, their limits, tags and tracing."""
