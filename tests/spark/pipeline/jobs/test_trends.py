"""Trends: the same hour of former weeks is what is expected."""

from datetime import UTC, datetime, timedelta

import pytest

from pybroker.spark.pipeline.jobs import trends
from pybroker.spark.pipeline.jobs.trends import Expected
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import QUEUE_1H, TRACE_EVENT
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.jobs.rows import put

UNTIL = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
LAST = datetime(2026, 3, 2, 8, tzinfo=UTC)


def test_what_former_weeks_make_expect():
    assert trends.expect([5, 6]) is None
    assert trends.expect([100, 100, 100, 100]) == Expected(100, 150, 4)
    # Weeks that differ may differ again: the median of the distances is 100.
    assert trends.expect([100, 200, 300, 400, 2_000]) == Expected(300, pytest.approx(300 + 4 * 1.4826 * 100), 5)
    assert trends.expect([0, 0, 0]) == Expected(0, 10, 3)


def test_the_last_whole_hours():
    hours = trends.hours(UNTIL)
    assert (len(hours), hours[0], hours[-1]) == (24, LAST - timedelta(hours=23), LAST)


def test_hours_without_a_row_are_not_known():
    values = {LAST - n * trends.WEEK: 5 for n in (1, 2, 4)} | {LAST: 50}
    assert trends.compare(values, trends.hours(UNTIL)) == [(LAST, 50, Expected(5, 15, 3))]
    assert trends.compare({LAST: 50}, trends.hours(UNTIL)) == [(LAST, 50, None)]


def history(queue, expected, now):
    """Return rows of five weeks: what is expected in each hour of the day, and what it was at last."""
    rows = []
    for begin in trends.hours(UNTIL):
        for week in range(6):
            figures = expected(begin.hour) if week or begin != LAST else now
            rows.append({"ts": begin - week * trends.WEEK, "vhost": "/", "queue": queue, **figures})
    return rows


def test_planted_weeks(tmp_path):
    # By day a thousand wait, and by night ten.
    def daily(hour):
        return {"ready_max": 1_000 if 8 <= hour < 18 else 10, "rejected": 3}

    rows = [
        *history("usual", daily, daily(8)),
        *history("lags", daily, {"ready_max": 1_501, "rejected": 3}),
        *history("rejects", daily, {"ready_max": 1_000, "rejected": 40}),
        *history("dies", daily, daily(8)),
    ]
    rows += [{"ts": LAST, "vhost": "/", "queue": "new", "ready_max": 5_000, "rejected": 0}]
    dead = {"vhost": "/", "queue": "dies", "kind": "dead_letter", "exchange": "", "routing_key": ""}
    losses = [
        {"ts": LAST + timedelta(minutes=minute), "reason": "expired", "count": 10, **dead} for minute in (0, 20, 59)
    ]
    losses += [{"ts": LAST - week * trends.WEEK, "reason": "expired", "count": 2, **dead} for week in range(1, 6)]
    losses += [{**losses[0], "reason": "rejected", "count": 10}]
    warehouse = Warehouse(tmp_path, UNTIL)
    put(warehouse, QUEUE_1H, *rows)
    put(warehouse, TRACE_EVENT, *losses)
    told = []

    class Trends(Run):
        bucket_s = 60
        coverage = None

        def report(self, name, columns, rows, **more):
            told.append(([dict(zip((each for each, _ in columns), row, strict=True)) for row in rows], more))
            return {}

    trends.run(Trends(None, warehouse, tmp_path, Window(UNTIL - timedelta(days=7), UNTIL)))
    ((found, more),) = told
    higher = {(row["queue"], row["measure"]): row for row in found if row["verdict"] == "higher"}
    assert {key: (row["value"], row["expected"], row["above"]) for key, row in higher.items()} == {
        ("lags", "ready"): (1_501, 1_000, 1_500),
        ("rejects", "rejected"): (40, 3, 13),
        ("dies", "dead letters: expired"): (30, 2, 12),
    }
    assert {(row["hour"], row["hours_above"], row["weeks"]) for row in higher.values()} == {(LAST, 1, 5)}
    assert {row["queue"] for row in found if row["verdict"] == "no history"} == {"new"}
    # Ten more than none are not too many.
    assert ("dies", "dead letters: rejected", "usual") in {
        (row["queue"], row["measure"], row["verdict"]) for row in found
    }
    assert len(more["plots"]) == len(more["advice"]) == 3
    sentence = "queue 'lags' in vhost '/': ready 1,501 at 2026-03-02 08:00:00, 1,000 expected as in the same hour"
    assert f"{sentence} of former weeks" in more["advice"]
