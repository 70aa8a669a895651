"""Memory, disk and descriptors: what is short, by which limit, and which queue gives some up.

Owns alarms and the two limits. Does not measure (`daemon/`), and does not know what an alarm means to a session.
"""
