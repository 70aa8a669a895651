"""Starts, watches and stops the broker: configuration, logging, signals."""
