"""The data pipeline: the daemon's telemetry as tables, and reports made of these (pybroker-pipeline(7)).

A program of its own (`python -m pybroker.spark.pipeline`), which pybrokerctl starts; it knows nothing of the broker but
the shape of its lines.
"""
