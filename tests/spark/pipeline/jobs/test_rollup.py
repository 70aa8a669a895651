"""Dates made bit by bit, together or alone, are the same, also where a clock was set back."""

from datetime import timedelta

import pytest

from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import GAP, QUEUE_1H, QUEUE_1M, QUEUE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.jobs.rows import NOON, at, put, rows_there

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pybroker.spark.pipeline.jobs import aggregation, rollup

QUEUE = {"vhost": "/", "queue": "q", "queue_id": 1, "epoch": 1}


def sample(minute, total, second=0, **more):
    return {**QUEUE, "ts": at(minute, second), "publish_total": total, **more}


def set_back(to, since):
    """Return the row that tells of a clock that was set back from one minute to another."""
    from_ms, to_ms = (round(at(minute).timestamp() * 1000) for minute in (to, since))
    return {"ts": at(to), "epoch": 1, "table": "", "from_ms": from_ms, "to_ms": to_ms, "why": "clock_back"}


class Told:
    """A warehouse of queue samples and what is made of them."""

    def __init__(self, folder):
        self.warehouse = Warehouse(folder, at(5 * 24 * 60))
        # Nothing here is much, so there is no need of Spark.
        self.run = Run(None, self.warehouse, folder, Window(at(0), self.warehouse.now), quiet=True)

    def add(self, *rows, table=QUEUE_SAMPLE):
        put(self.warehouse, table, *rows)

    def made(self):
        """Make what is to be made; return how many dates that were, and the counts by minute of the first noon."""
        days = rollup.run(self.run)["queue_1m dates"]
        rows = rows_there(self.warehouse, QUEUE_1M)
        return days, {(row["ts"] - NOON) // timedelta(minutes=1): row["publish"] for row in rows}


def test_dates_made_together_are_those_made_alone(tmp_path):
    def hour(hours, total, **more):
        return sample(hours * 60 - 720, total, **more)

    told = Told(tmp_path)
    told.add(hour(1, 5, first=True), hour(24, 60), hour(48 - 0.1, 100), hour(48, 130), hour(72, 200))
    days, together = told.made()
    # Growth over midnight counts if it was seen in the ten minutes before.
    assert (days, [*together.values()]) == (4, [5, 0, 40, 30, 0])
    assert told.made() == (0, together)
    for day in reversed(told.warehouse.dates("queue_sample")):
        stamps = told.warehouse.state()["made"]["queue_1m"]
        told.warehouse.note("made", "queue_1m", {**stamps, str(day): 0})
        assert told.made() == (1, together)


@pytest.mark.parametrize("chunk", [1, 1_000])
def test_what_is_made_bit_by_bit_is_what_is_made_at_once(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(aggregation, "ROWS_MAX", chunk)
    # A row every five minutes; silence for hours; a clock that is set back by an hour and a half; another start.
    times = [*range(0, 60, 5), *range(300, 400, 5), *range(310, 430, 5), *range(420, 440, 5)]
    rows = [
        sample(minute, 3 * n, seq=n, first=n == 0 or None, epoch=1 if n < 56 else 2) for n, minute in enumerate(times)
    ]
    rows[56] |= {"first": True}
    told, at_once = Told(tmp_path / "told"), Told(tmp_path / "at_once")
    at_once.add(*rows)
    at_once.add(set_back(310, 400), table=GAP)
    expected = at_once.made()[1]
    told.add(set_back(310, 400), table=GAP)
    for n in range(0, len(rows), 7):
        told.add(*rows[n : n + 7])
        found = told.made()[1]
    assert found == expected
    assert sum(expected.values()) == 3 * 55 + 3 * (len(times) - 1)
    hours = [rows_there(each.warehouse, QUEUE_1H) for each in (told, at_once)]
    assert hours[0] == hours[1]


def test_a_clock_that_is_set_back_over_midnight(tmp_path):
    midnight = 12 * 60
    # Set back from 00:30 to 23:30, when the total is 90: half an hour of both dates was twice.
    times = [*range(midnight - 60, midnight + 30, 5), *range(midnight - 30, midnight + 60, 5)]
    rows = [sample(minute, 5 * n, seq=n, first=n == 0 or None) for n, minute in enumerate(times)]
    gap = set_back(midnight - 30, midnight + 30)
    told, at_once = Told(tmp_path / "told"), Told(tmp_path / "at_once")
    for n in range(0, len(rows), 4):
        told.add(*rows[n : n + 4])
        told.add(gap, table=GAP)
        found = told.made()[1]
    at_once.add(*rows)
    at_once.add(gap, table=GAP)
    assert found == at_once.made()[1]
    assert sum(found.values()) == 5 * (len(times) - 1)
