"""Blocks are paired; one without an end lasts until its connection was seen last."""

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.jobs import blocked
from pybroker.spark.pipeline.schemas import BLOCK_EVENT, CONNECTION_1M
from tests.spark.pipeline.jobs.rows import NOON, arrow, at, minutes

MS = int(NOON.timestamp() * 1000)


def test_who_was_held_for_what_and_how_long():
    def event(conn, began_s, duration_ms, reason="memory"):
        action = "begin" if duration_ms is None else "end"
        began = {"conn_id": conn, "began_ms": MS + began_s * 1000, "reason": reason, "user": "u", "client_name": conn}
        return {"ts": at(0, began_s), "action": action, "duration_ms": duration_ms, **began}

    events = arrow(
        BLOCK_EVENT,
        *(event("a", 10, ms) for ms in (None, 4_000)),
        *(event("a", 60, ms, "memory & disk") for ms in (None, 1_000)),
        event("b", 20, None, "disk"),  # no end: seen last at 30 s
        event("c", 0, None),  # never seen: until the end
        epoch=1,
    )
    seen = {"client_name": "b", "connected_ms": MS, "last_ts": at(0, 30), "flow_ms": 500, "flow_cause": "journal"}
    free = {"ts": at(0), "conn_id": "free", "flow_ms": 0}
    rows_of_minutes = minutes(CONNECTION_1M, {"ts": at(0), "conn_id": "b", **seen}, free)
    known, asked = blocked.known(rows_of_minutes), []
    found = blocked.blocks(events.to_pylist(), lambda ids: asked.append(ids) or known, at(1))
    assert asked == [{("n", "b"), ("n", "c")}]
    rows = {row.conn_id: row for row in blocked.blocked(found, blocked.flows(rows_of_minutes), known)}
    assert {name: (row.held_ms, row.memory_ms, row.disk_ms, row.flow_ms) for name, row in rows.items()} == {
        "c": (60_000, 60_000, 0, 0),
        "b": (10_500, 0, 10_000, 500),
        "a": (5_000, 5_000, 1_000, 0),
    }
    assert [*rows] == ["c", "b", "a"]
    assert (rows["a"].blocks, rows["a"].longest_ms, rows["b"].share) == (2, 4_000, 0.35)
