"""Tables that were made bit by bit are those that were made at once; who follows takes turns."""

import argparse

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline import follow
from pybroker.spark.pipeline.failure import FailureError
from pybroker.spark.pipeline.jobs import ingest, rollup
from pybroker.spark.pipeline.tables import FOLLOWED, Warehouse
from tests.spark.pipeline.day import START, Day
from tests.spark.pipeline.told import NOW, Told

SIZE = (5, 60, 240)


@pytest.mark.slow
@pytest.mark.spark
def test_tables_made_bit_by_bit_are_those_made_at_once_in_tasks(spark, tmp_path, monkeypatch):
    day = Day(tmp_path / "day", *SIZE).write()
    at_once, told = Told(day, tmp_path / "at_once", spark), Told(day, tmp_path / "told", spark)
    at_once.tell(24)
    with monkeypatch.context() as patch:
        for job, limit in ((ingest, "HERE_OCTETS_MAX"), (rollup, "HERE_ROWS_MAX")):
            patch.setattr(job, limit, 0)
        at_once.run()
    for hours in (0.5, 2.25, 3.01, 24):
        told.tell(hours)
        told.run()
    assert told.content() == at_once.content()
    assert {*told.run()["rollup"].values()} == {0}


def given(tmp_path):
    (tmp_path / "telemetry").mkdir(exist_ok=True)
    return argparse.Namespace(
        source="files", warehouse=tmp_path / "w", telemetry=tmp_path / "telemetry", quiet=True, master=None, remote=None
    )


def test_one_process_follows_and_others_may_run(tmp_path):
    warehouse = Warehouse(tmp_path / "w", NOW)
    with warehouse.lock(FOLLOWED):
        with pytest.raises(FailureError) as caught:
            follow.follow(given(tmp_path), lambda now: now)
        assert caught.value.code == 75
        with warehouse.lock():
            # The others' turn.
            assert not follow.run_jobs(given(tmp_path), lambda now: now)


def test_a_look_is_all_jobs_and_takes_place_where_there_is_something_new(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(follow, "perform", lambda run, names: ran.append((run.window, names)))
    arguments = given(tmp_path)
    assert follow.run_jobs(arguments, lambda _: START)
    ((window, names),) = ran
    assert (window.since, names) == (START, [*follow.JOBS])
    warehouse = Warehouse(tmp_path / "w")
    assert not follow.octets_unread(warehouse, arguments.telemetry)
    file = arguments.telemetry / "alarm_event/20260105T00.0001.ndjson.open"
    file.parent.mkdir()
    file.write_text("half a line")
    assert not follow.octets_unread(warehouse, arguments.telemetry)
    file.write_text("a line\n")
    assert follow.octets_unread(warehouse, arguments.telemetry)


def test_a_job_that_fails_ends_it(tmp_path, monkeypatch):
    def fail(_run, _names):
        raise FailureError("broken")

    monkeypatch.setattr(follow, "perform", fail)
    with pytest.raises(FailureError, match="broken"):
        follow.run_jobs(given(tmp_path), lambda _: START)
    arguments = given(tmp_path)
    arguments.telemetry.rmdir()
    with pytest.raises(FailureError, match="there is no telemetry"):
        follow.follow(arguments, lambda now: now)


def test_a_broker_that_goes_is_looked_for_again(capsys):
    class Gone:
        def fill(self):
            raise FailureError("stream s cannot be read: gone", 69)

    given = argparse.Namespace(quiet=False)
    with pytest.raises(FailureError):
        follow.fill(given, Gone(), is_first=True)
    assert not follow.fill(given, Gone(), is_first=False)
    assert capsys.readouterr().err == "stream s cannot be read: gone; trying again\n"
