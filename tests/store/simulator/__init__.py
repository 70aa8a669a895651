"""A deterministic simulator of the whole store: the real classes over a faulty disk, one schedule for each seed."""
