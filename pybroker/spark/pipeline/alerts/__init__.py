"""Alerts: rows of reports that somebody is to be told of, once, and targets that queues are measured by."""
