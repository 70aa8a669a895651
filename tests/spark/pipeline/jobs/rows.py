"""Rows of the pipeline's tables for tests: what is not named is nothing; times are minutes of an hour."""

from datetime import UTC, datetime, timedelta
from itertools import groupby

import pytest

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def at(minute, second=0):
    return NOON + timedelta(minutes=minute, seconds=second)


def arrow(table, *rows, **everywhere):
    """Return rows as they are in the files of a table."""
    pa = pytest.importorskip("pyarrow")
    from pybroker.spark.pipeline.columns import increments

    full = [{"node": "n", **everywhere, **row} for row in rows]
    return pa.Table.from_pylist(full, increments.schema(table))


def minutes(table, *rows, **everywhere):
    """Return rows as the minutes of a window, date by date."""
    from pybroker.spark.pipeline.columns.minutes import Minutes

    by_day = groupby(sorted(rows, key=lambda row: row["ts"]), lambda row: row["ts"].date())
    return Minutes(table.key, [arrow(table, *found, **everywhere) for _, found in by_day])


def put(warehouse, table, *rows, **everywhere):
    """Add rows to a table; return how many were not there."""
    from pybroker.spark.pipeline.columns import increments

    added = {}

    def make(staging, number):
        by_day = groupby(sorted(rows, key=lambda row: row["ts"]), lambda row: row["ts"].date())
        for day, found in by_day:
            here, new = warehouse.partition(table.name, day), staging / f"date={day}"
            lacking = increments.extend(here, new, arrow(table, *found, **everywhere), table.identity, number)
            if lacking.num_rows:
                added[day] = lacking
        return {day: increments.bounds(each)[0] for day, each in added.items()}

    warehouse.change(table, make)
    return sum(each.num_rows for each in added.values())


def rows_there(warehouse, table, *dates):
    """Return what a table has of these dates, or of all, in the order of its identity."""
    from pybroker.spark.pipeline.columns import increments

    folders = [warehouse.partition(table.name, day) for day in dates or warehouse.dates(table.name)]
    parts = [part for folder in folders for part in increments.parts(folder)]
    found = increments.read(parts, increments.schema(table))
    return found.sort_by([(name, "ascending") for name in table.identity]).to_pylist()
