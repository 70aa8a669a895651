"""Of every span of a window it is known whether anything is known of it."""

from datetime import timedelta

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.coverage.unknown import bad_spans, holes, samples, told, unknown_spans, written
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import GAP, NODE_1M, NODE_SAMPLE
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.jobs.rows import NOON, arrow, at, put


def ms(minute, second=0):
    return round(at(minute, second).timestamp() * 1000)


def every_ten_seconds(first, last, **everywhere):
    """Return a row of a node for each ten seconds of these minutes."""
    seconds = range(first * 60, last * 60, 10)
    return [
        {"ts": NOON + timedelta(seconds=each), "seq": each, "interval_ms": 10_000, "epoch": 1, **everywhere}
        for each in seconds
    ]


def spans(found):
    """Return node, table, why, and begin and end in minutes of the hour."""
    return [
        (span.node, span.table, span.why, *((each - NOON).total_seconds() / 60 for each in (span.since, span.until)))
        for span in sorted(found, key=lambda span: (span.since, span.node))
    ]


def test_holes_are_where_a_node_wrote_nothing():
    rows = arrow(
        NODE_SAMPLE,
        *every_ten_seconds(0, 10),
        *every_ten_seconds(20, 30),  # files are missing before
        *every_ten_seconds(40, 60, epoch=2),  # the node was down before
        *every_ten_seconds(0, 50, node="m"),
        *every_ten_seconds(10, 60, node="old", interval_ms=None, seq=None),
        # Its clock was set back by half an hour at 12:40: nothing is missing.
        *every_ten_seconds(0, 40, node="back"),
        *({**row, "seq": row["seq"] + 10_000} for row in every_ten_seconds(10, 60, node="back")),
    )
    assert spans(holes(written([rows], []), at(0), at(60))) == [
        ("old", "", "before", 0, 10),
        ("n", "", "missing", 10 - 1 / 6, 20),
        ("n", "", "down", 30 - 1 / 6, 40),
        ("m", "", "after", 50 - 1 / 6, 60),
    ]


def test_of_dates_whose_samples_are_gone_minutes_tell():
    minutes = [{"ts": at(minute)} for minute in (*range(10), *range(30, 60))]
    found = written([], [arrow(NODE_1M, *minutes)])
    assert spans(holes(found, at(0), at(60))) == [("n", "", "missing", 9, 30)]
    assert written([arrow(NODE_SAMPLE, *every_ten_seconds(0, 60))], [arrow(NODE_1M, *minutes)])["n"].num_rows == 360
    assert spans(holes({}, at(0), at(60))) == [("", "", "before", 0, 60)]


def test_gaps_last_until_they_end_or_the_node_does():
    rows = arrow(NODE_SAMPLE, *every_ten_seconds(0, 30), *every_ten_seconds(31, 60, epoch=2))

    def gap(minute, end, table="queue_sample", why="disk", epoch=1):
        end = None if end is None else ms(end)
        return {"ts": at(minute), "epoch": epoch, "table": table, "from_ms": ms(minute), "to_ms": end, "why": why}

    gaps = arrow(GAP, gap(5, None), gap(5, 15), gap(20, None, why="overflow"), gap(40, 45, "", "clock_back", 2))
    assert spans(told(gaps.to_pylist(), written([rows], []), at(60))) == [
        ("n", "queue_sample", "disk", 5, 15),
        ("n", "queue_sample", "overflow", 20, 30 - 1 / 6),
        ("n", "", "clock_back", 40, 45),
    ]


def test_lines_that_are_no_rows_tell_when_they_were(tmp_path):
    folder = tmp_path / "queue_sample"
    folder.mkdir()
    line = '{{"v":1,"ts":{},"node":"n","epoch":1,"que'
    cut = [line.format(ms(1)), line.format(ms(1, 30)), line.format(ms(5))]
    (folder / "20260105T12.0001.ndjson").write_text("\n".join(cut))
    (folder / "20260105T12.0002.ndjson").write_text("\0\0\0\n")
    assert [each[:3] for each in spans(bad_spans(tmp_path))] == [
        ("", "queue_sample", "corrupted"),
        ("n", "queue_sample", "corrupted"),
        ("n", "queue_sample", "corrupted"),
    ]
    found = [each[3:] for each in spans(bad_spans(tmp_path))]
    assert found[0] == (0, 60)
    assert [pytest.approx(each, abs=0.001) for each in found[1:]] == [(50 / 60, 1.5), (290 / 60, 5)]


def test_a_span_is_clipped_to_the_window_and_a_jump_of_the_clock_is_no_hole(tmp_path):
    warehouse = Warehouse(tmp_path / "warehouse")
    rows = [*every_ten_seconds(0, 10), *every_ten_seconds(20, 60)]
    jump = {"table": "", "from_ms": ms(10), "to_ms": ms(19, 50), "why": "clock_forward"}
    early = {"table": "queue_sample", "from_ms": ms(-5), "to_ms": ms(7), "why": "disk"}
    for table, given in ((NODE_SAMPLE, rows), (GAP, [jump, early])):
        put(warehouse, table, *({"ts": at(0), "epoch": 1, **row} for row in given))
    run = Run(None, warehouse, tmp_path, Window(at(5), at(60)))
    assert spans(unknown_spans(run, samples(run))) == [
        ("n", "queue_sample", "disk", 5, 7),
        ("n", "", "clock_forward", 10, 19 + 5 / 6),
    ]
