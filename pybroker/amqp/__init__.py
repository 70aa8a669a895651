"""The AMQP 0-9-1 door: methods in, calls on the core out."""
