"""Streams as a source of queries: offsets in Spark's checkpoint, ranges of them as tasks, chunks as rows.

`batch` and `follow` are what Spark calls.
"""
