"""Rows are added to a date and replaced in it without what is there being written again, and a kill loses none."""

from datetime import UTC, datetime, timedelta

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyarrow import parquet  # noqa: E402 - only where pyspark is

from pybroker.spark.pipeline.columns import increments  # noqa: E402
from pybroker.spark.pipeline.jobs import ingest  # noqa: E402
from pybroker.spark.pipeline.run import Run, Window  # noqa: E402
from pybroker.spark.pipeline.schemas import NODE_1M, NODE_SAMPLE  # noqa: E402
from pybroker.spark.pipeline.tables import Warehouse  # noqa: E402
from tests.searches import share  # noqa: E402
from tests.spark.pipeline.jobs.rows import arrow, put  # noqa: E402 - likewise
from tests.spark.pipeline.jobs.test_ingest import GOOD  # noqa: E402
from tests.spark.pipeline.test_replacement import Killed, Steps  # noqa: E402

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
DAY = NOON.date()
SCHEMA = increments.schema(NODE_SAMPLE)


def at(second):
    return NOON + timedelta(seconds=second)


def samples(*seconds):
    return [{"ts": at(n), "epoch": 1, "fds": n} for n in seconds]


def renew(warehouse, begin, *seconds, hot=None):
    """Replace the minutes from a second on."""
    minutes = arrow(NODE_1M, *({"ts": at(n), "samples": n} for n in seconds))

    def make(staging, number):
        here, new = warehouse.partition("node_1m", DAY), staging / f"date={DAY}"
        times = {"since": at(begin), "hot": at(begin if hot is None else hot)}
        increments.stage(here, new, minutes, NODE_1M.identity, number, **times)
        return {DAY: at(begin)}

    warehouse.change(NODE_1M, make)


def found(warehouse, table=NODE_SAMPLE, column="fds"):
    parts = increments.parts(warehouse.partition(table.name, DAY))
    return sorted(increments.read(parts, increments.schema(table))[column].to_pylist())


@pytest.fixture
def warehouse(tmp_path):
    return Warehouse(tmp_path / "w", NOON)


def test_a_row_is_added_once(warehouse):
    assert put(warehouse, NODE_SAMPLE, *samples(1, 2, 2, 3)) == 3
    assert put(warehouse, NODE_SAMPLE, *samples(3, 1)) == 0
    assert put(warehouse, NODE_SAMPLE, *samples(2, 4, 0)) == 2
    assert found(warehouse) == [0, 1, 2, 3, 4]
    assert [*(warehouse.folder / ".staging").iterdir()] == []


def test_many_additions_make_few_files_and_rewrite_little(warehouse, monkeypatch):
    written = []
    write = parquet.write_table
    monkeypatch.setattr(
        parquet, "write_table", lambda table, *rest, **how: (written.append(table.num_rows), write(table, *rest, **how))
    )
    for n in range(100):
        put(warehouse, NODE_SAMPLE, *samples(*range(10 * n, 10 * n + 10)))
    assert found(warehouse) == [*range(1_000)]
    assert len(increments.parts(warehouse.partition("node_sample", DAY))) < 8
    assert sum(written) < 10 * 1_000


def test_rows_from_a_moment_on_are_replaced_and_those_before_stay(warehouse):
    for begin in range(0, 600, 60):
        renew(warehouse, begin, *range(begin, begin + 120, 60), hot=begin + 60)
    assert found(warehouse, NODE_1M, "samples") == [*range(0, 660, 60)]
    renew(warehouse, 120, 130, hot=130)
    assert found(warehouse, NODE_1M, "samples") == [0, 60, 130]


def test_a_file_that_does_not_say_which_times_it_has_may_have_any(tmp_path):
    parquet.write_table(arrow(NODE_SAMPLE, *samples(1, 50)), tmp_path / "part-0.parquet", write_statistics=False)
    parts = increments.parts(tmp_path)
    assert parts[0].has(at(100), None)
    assert increments.read(parts, SCHEMA, since=at(20), until=at(60))["fds"].to_pylist() == [50]


def test_a_column_that_a_file_lacks_is_empty(tmp_path):
    parquet.write_table(arrow(NODE_SAMPLE, *samples(1)).drop_columns(["mem_rss"]), tmp_path / "part-0.parquet")
    assert increments.read(increments.parts(tmp_path), SCHEMA)["mem_rss"].to_pylist() == [None]


def test_it_is_known_from_when_on_a_date_is_to_be_made_anew(warehouse):
    midnight = NOON.replace(hour=0)
    put(warehouse, NODE_SAMPLE, *samples(10))
    assert warehouse.since("node_sample", DAY) == midnight
    renew(warehouse, -43_200, 0)
    put(warehouse, NODE_SAMPLE, *samples(30))
    assert warehouse.since("node_sample", DAY) == at(30)
    # Not made yet: the earliest counts.
    put(warehouse, NODE_SAMPLE, *samples(50))
    assert warehouse.since("node_sample", DAY) == at(30)
    renew(warehouse, -43_200, 0)
    assert warehouse.stamp("node_1m", DAY) > warehouse.stamp("node_sample", DAY)
    put(warehouse, NODE_SAMPLE, *samples(-86_000))
    # Its first counts are differences from the day before.
    assert warehouse.stamp("node_1m", DAY) < warehouse.stamp("node_sample", DAY)
    assert warehouse.since("node_sample", DAY) == midnight


def without_links(monkeypatch):
    def refuse(*_paths):
        raise OSError(1, "no links here")

    monkeypatch.setattr(increments.os, "link", refuse)


def test_where_there_are_no_hard_links_files_are_copied(warehouse, monkeypatch):
    without_links(monkeypatch)
    put(warehouse, NODE_SAMPLE, *samples(*range(100)))
    put(warehouse, NODE_SAMPLE, *samples(200))
    assert found(warehouse) == [*range(100), 200]


class Node:
    """A node that writes alarms, and a warehouse that reads them: some lines at each turn."""

    TURNS = 4

    def __init__(self, folder):
        self.folder, self.warehouse = folder, folder / "w"
        (folder / "alarm_event").mkdir(parents=True)

    def write(self, turn):
        name = self.folder / "alarm_event" / f"20260105T{turn // 2:02}.0001.ndjson"
        first = [GOOD.replace("1200000", str(1_200_000 + turn * 1_000 + n)) + "\n" for n in range(3)]
        with name.with_name(f"{name.name}.open").open("a") as file:
            file.write("".join([*first, f"bad {turn}\n", GOOD[:30] if turn % 2 else ""]))
        if turn % 2:
            name.with_name(f"{name.name}.open").rename(name)

    def read(self):
        warehouse = Warehouse(self.warehouse, NOON)
        with warehouse.lock():
            warehouse.sweep()
            return ingest.run(Run(None, warehouse, self.folder, Window(NOON, NOON), quiet=True))

    def content(self):
        warehouse = Warehouse(self.warehouse)
        schema = increments.schema(ingest.RAW["alarm_event"])
        tables = {
            str(day): increments.read(increments.parts(warehouse.partition("alarm_event", day)), schema)
            .sort_by("ts")
            .to_pylist()
            for day in warehouse.dates("alarm_event")
        }
        bad = sorted(line for path in (self.warehouse / "_bad").glob("*/*") for line in path.read_text().splitlines())
        (read,) = warehouse.state()["read"].values()
        return tables, bad, read


@pytest.mark.search
def test_a_kill_at_each_step_of_an_ingest_changes_nothing(tmp_path, monkeypatch, seed):
    undisturbed = Node(tmp_path / "undisturbed")
    for turn in range(Node.TURNS):
        undisturbed.write(turn)
        assert undisturbed.read()["new rows"] == 3
    assert undisturbed.read()["files"] == 0
    tables, bad, _ = undisturbed.content()
    assert len(tables["2026-01-05"]) == 3 * Node.TURNS
    assert bad == ["bad 0", "bad 1", "bad 2", "bad 3", GOOD[:30], GOOD[:30]]
    stride = share(4, 1)
    for last in range(seed % stride, 200, stride):
        node, kills = Node(tmp_path / str(last)), 0
        for turn in range(Node.TURNS):
            node.write(turn)
            with monkeypatch.context() as patch:
                steps = Steps(patch, last)
                try:
                    node.read()
                except Killed:
                    kills += 1
                steps.last = None
            node.read()
        assert node.content() == undisturbed.content()
        if not kills:
            break
    assert last > 10
