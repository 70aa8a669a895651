"""The tables are what the daemon writes, and what the man page says."""

from pathlib import Path

import pytest

from pybroker.core.stats.drops import DropCounts
from pybroker.daemon.telemetry import files as telemetry_files, rows as telemetry_rows
from pybroker.daemon.telemetry.gaps import Gaps
from pybroker.spark.pipeline import schemas
from tests.fakes import World

PAGE = Path(__file__).resolve().parents[3] / "man/pybroker-pipeline.7"
HEAD = {"ts", "node", "epoch", "seq"}
# The recorder adds these to rows of queues and connections, and of the node.
THING = {"first": True, "others": 1}
NODE = {"interval_ms": 1, "telemetry_dropped_total": 0}


def names(table):
    return {column.name for column in table.columns}


def test_the_daemons_rows_are_the_tables_columns():
    world = World()
    broker, peer = world.broker, world.connect()
    broker.losses = DropCounts()
    peer.declare("q")
    targets = {"head-age-target": 1, "time-to-consume-target": 1}
    broker.parameters.set("/", "policy", "p", {"pattern": "", "definition": targets, "priority": 0})
    peer.publish("", "nowhere", b"")
    broker.alarms.set("memory", "short")
    (alarm,) = broker.alarms
    (loss,) = broker.losses.pop()
    gaps = []
    Gaps(gaps.extend).begin("queue_sample", 0, "disk")
    rows = {
        "queue_sample": {**telemetry_rows.of_deleted_queue(world.vhost.queues["q"], 1), **THING},
        "connection_sample": {**telemetry_rows.of_closed_session(peer.session), **THING},
        "node_sample": {**telemetry_rows.of_node(broker, 0), **NODE, "first": True},
        "alarm_event": telemetry_rows.of_alarm(broker, alarm, "set"),
        "block_event": telemetry_rows.of_block(peer.session, "memory", 0, None),
        "trace_event": telemetry_rows.of_loss(*loss),
        "gap": gaps[0],
    }
    assert {name: HEAD | row.keys() for name, row in rows.items()} == {
        name: names(table) for name, table in schemas.RAW.items()
    }


def test_both_speak_of_the_same_version():
    assert telemetry_files.VERSION == schemas.VERSION


@pytest.mark.parametrize("table", schemas.TABLES.values(), ids=lambda table: table.name)
def test_keys_are_columns_and_everything_is_explained(table):
    assert {*table.key, "ts"} <= names(table)
    page = PAGE.read_text().replace(r"\-", "-")
    assert f".SS {table.name}\nOne row for each {table.grain}. Kept for {table.days_kept} days.\n" in page
    part = page.partition(f".SS {table.name}\n")[2].partition("\n.S")[0] + "\n"
    for column in table.columns:
        said = f"{column.help[0].upper()}{column.help[1:]}."
        assert f'.TP\n.BR {column.name} " ({column.type})"\n{said}\n' in part


def test_a_table_has_its_date_at_the_end():
    pytest.importorskip("pyspark")
    struct = schemas.NODE_SAMPLE.struct()
    assert struct.names[:3] == ["ts", "node", "epoch"]
    assert struct.names[-1] == "date"
    assert (struct["ts"].dataType.simpleString(), struct["watermark"].dataType.simpleString()) == (
        "timestamp",
        "double",
    )
