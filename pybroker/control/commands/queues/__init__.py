"""Queues deleted or purged, scheduled messages cancelled."""
