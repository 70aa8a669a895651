"""Tables that were made bit by bit, through kills, are those that were made at once; who follows takes turns."""

import argparse
import random
from datetime import UTC, datetime

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline import follow, increments
from pybroker.spark.pipeline.failure import FailureError
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.runner import perform
from pybroker.spark.pipeline.schemas import TABLES
from pybroker.spark.pipeline.tables import FOLLOWED, Warehouse
from tests.spark.pipeline.day import START, Day
from tests.spark.pipeline.test_replacement import Killed, Steps

SIZE = (5, 60, 240)
NOW = datetime(2026, 1, 7, tzinfo=UTC)
JOBS = ("ingest", "rollup")


class Told:
    """A day's telemetry as far as it was written at some time, and the warehouse that is made of it."""

    def __init__(self, spark, day, folder):
        self.spark, self.day, self.folder = spark, day, folder
        self.warehouse = folder / "w"

    def tell(self, hours):
        """Have the files as they were so many hours after midnight."""
        for path in sorted(self.day.folder.glob("*/*.ndjson*")):
            begin = int(path.name[9:11])
            table = self.folder / "telemetry" / path.parent.name
            table.mkdir(parents=True, exist_ok=True)
            octets, name = path.read_bytes(), path.name.removesuffix(".open")
            still_open = table / f"{name}.open"
            if begin <= hours < begin + 1:
                still_open.write_bytes(octets[: int(len(octets) * (hours - begin))])
            elif begin < hours:
                still_open.unlink(missing_ok=True)
                (table / path.name).write_bytes(octets)

    def run(self):
        warehouse = Warehouse(self.warehouse, NOW)
        with warehouse.lock():
            warehouse.sweep()
            run = Run(self.spark, warehouse, self.folder / "telemetry", Window(START, self.day.until), quiet=True)
            return perform(run, [*JOBS])["jobs"]

    def run_killed(self, monkeypatch, last):
        """Run, and be killed before a step; tell whether there were so many."""
        with monkeypatch.context() as patch:
            steps = Steps(patch, last)
            try:
                self.run()
            except Killed:
                return True
            finally:
                steps.last = None
        return False

    def content(self):
        warehouse, found = Warehouse(self.warehouse), {}
        for table in TABLES.values():
            for day in warehouse.dates(table.name):
                rows = increments.read(increments.parts(warehouse.partition(table.name, day)), increments.schema(table))
                order = [(name, "ascending") for name in (*table.key, "ts")]
                found[table.name, str(day)] = rows.sort_by(order).to_pylist()
        return found


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    return Day(tmp_path_factory.mktemp("day") / "telemetry", *SIZE).write()


@pytest.fixture(scope="module")
def undisturbed(spark, day, tmp_path_factory):
    from pybroker.spark.pipeline.jobs import rollup

    told = Told(spark, day, tmp_path_factory.mktemp("undisturbed"))
    told.tell(24)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollup, "PART_ROWS_MAX", 0)
        told.run()
    return told.content()


@pytest.mark.spark
def test_tables_made_bit_by_bit_through_kills_are_those_made_at_once(spark, day, undisturbed, tmp_path, monkeypatch):
    told = Told(spark, day, tmp_path)
    for hours, last in ((0.5, 20), (2.25, 60), (3.01, 45)):
        told.tell(hours)
        assert told.run_killed(monkeypatch, last)
    told.tell(24)
    told.run()
    assert told.content() == undisturbed
    assert told.run()["rollup"] == {**dict.fromkeys(told.run()["rollup"], 0), "seconds": 0.0}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_two_hundred_kills_change_nothing(spark, day, undisturbed, tmp_path, monkeypatch):
    chosen, kills, told = random.Random(5), 0, None
    while kills < 200:
        told = Told(spark, day, tmp_path / str(kills))
        for part in range(1, 9):
            told.tell(part / 2)
            while told.run_killed(monkeypatch, chosen.randrange(150)):
                kills += 1
        told.tell(24)
        told.run()
        assert told.content() == undisturbed


def given(tmp_path):
    (tmp_path / "telemetry").mkdir(exist_ok=True)
    return argparse.Namespace(
        warehouse=tmp_path / "w", telemetry=tmp_path / "telemetry", quiet=True, master=None, remote=None
    )


def test_one_process_follows_and_others_may_run(tmp_path):
    warehouse = Warehouse(tmp_path / "w", NOW)
    with warehouse.lock(FOLLOWED):
        with pytest.raises(FailureError) as caught:
            follow.follow(given(tmp_path), lambda now: now)
        assert caught.value.code == 75
        with warehouse.lock():
            # The others' turn.
            assert not follow.run_jobs(None, given(tmp_path), lambda now: now)


def test_a_look_is_all_jobs_and_takes_place_where_there_is_something_new(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(follow, "perform", lambda run, names: ran.append((run.window, names)))
    arguments = given(tmp_path)
    assert follow.run_jobs(None, arguments, lambda _: START)
    ((window, names),) = ran
    assert (window.since, names) == (START, [*follow.JOBS])
    warehouse = Warehouse(tmp_path / "w")
    assert not follow.is_new(warehouse, arguments.telemetry)
    file = arguments.telemetry / "alarm_event/20260105T00.0001.ndjson.open"
    file.parent.mkdir()
    file.write_text("half a line")
    assert not follow.is_new(warehouse, arguments.telemetry)
    file.write_text("a line\n")
    assert follow.is_new(warehouse, arguments.telemetry)


def test_a_job_that_fails_ends_it(tmp_path, monkeypatch):
    def fail(_run, _names):
        raise FailureError("broken")

    monkeypatch.setattr(follow, "perform", fail)
    with pytest.raises(FailureError, match="broken"):
        follow.run_jobs(None, given(tmp_path), lambda _: START)
    arguments = given(tmp_path)
    arguments.telemetry.rmdir()
    with pytest.raises(FailureError, match="there is no telemetry"):
        follow.follow(arguments, lambda now: now)
