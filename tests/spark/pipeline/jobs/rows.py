"""Rows of the pipeline's tables for tests: what is not named is nothing; times are minutes of an hour."""

from datetime import UTC, datetime, timedelta

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def at(minute, second=0):
    return NOON + timedelta(minutes=minute, seconds=second)


def frame(spark, table, *rows, **everywhere):
    """Return rows as a frame of a table."""
    struct = table.struct()
    full = [{**dict.fromkeys(struct.names), "node": "n", **everywhere, **row} for row in rows]
    return spark.createDataFrame([tuple(row[name] for name in struct.names) for row in full], struct)
