"""Memory, disk and descriptors: shortages, their limits, and the queue that gives memory up.

Owns alarms and the two limits. Does not measure (`daemon/`), and does not know what an alarm means to a session.
"""
