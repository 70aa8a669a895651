"""Telemetry: the counters of all nouns, every ten seconds, as lines of JSON in files.

Owns the files and their rotation. Does not know what is made of them (`spark/pipeline/`).
"""
