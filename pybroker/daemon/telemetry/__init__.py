"""Telemetry: what queues, connections and the node count, as rows in files and in streams of the broker's own.

Owns both, and the rotation of the files. Does not know what is made of them (`spark/pipeline/`).
"""
