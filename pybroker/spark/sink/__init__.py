"""Writing queries: rows as messages, confirmed before the batch is.

Owns the publishing of one partition. Does not know how Spark schedules it.
"""
