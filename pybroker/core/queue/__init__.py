"""Queues: what is ready, returned, expiring, overflowing, dead-lettered."""
