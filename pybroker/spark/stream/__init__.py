"""Streams read and written by the stream protocol, for Spark's tasks and for commands that need no Java.

`link` is the client; it knows neither pyspark nor pyarrow. It blocks, and creates nothing.
"""
