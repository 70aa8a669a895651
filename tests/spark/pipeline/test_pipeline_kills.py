"""A kill at any step of a job, or at any moment, changes nothing: the next run makes what an undisturbed one makes."""

import json
import os
import random
import shutil
import subprocess
import sys
import time

import pytest

pytest.importorskip("pyspark")

from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.tables import Warehouse
from tests.searches import share
from tests.spark.pipeline import told as program
from tests.spark.pipeline.day import START, Day
from tests.spark.pipeline.test_replacement import killed
from tests.spark.pipeline.told import LATER, NOW, Told

# Few queues, but a restart, alarms, losses and bad lines, as test_day has them.
SIZE = (2, 300, 48)
HOURS = (0.5, 2.25, 3.01, 24)
KILLS = 200


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    return Day(tmp_path_factory.mktemp("day") / "telemetry", *SIZE).write()


@pytest.fixture(scope="module")
def undisturbed(day, tmp_path_factory):
    told = Told(day, tmp_path_factory.mktemp("undisturbed"))
    told.tell(24)
    told.run()
    return told.content()


def kill_everywhere(day, undisturbed, folder, monkeypatch, step):
    """Kill a run before each step, or some of them; return how many steps one has."""
    last = 0
    while True:
        told, was_killed = Told(day, folder / str(last)), False
        for hours in HOURS[-2:]:
            told.tell(hours)
            was_killed |= told.run_killed(monkeypatch, last)
        told.run()
        assert told.content() == undisturbed
        assert not [*(told.warehouse / ".staging").iterdir()]
        if not was_killed:
            return last
        last += step


def test_a_kill_at_some_steps_of_ingest_and_rollup(day, undisturbed, tmp_path, monkeypatch):
    assert kill_everywhere(day, undisturbed, tmp_path, monkeypatch, 61) > 100


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_kill_at_each_step_of_ingest_and_rollup(day, undisturbed, tmp_path, monkeypatch):
    assert kill_everywhere(day, undisturbed, tmp_path, monkeypatch, 1) > 100


@pytest.mark.search
def test_a_kill_at_each_step_of_retention(day, undisturbed, tmp_path, monkeypatch, seed):
    kept = {key: rows for key, rows in undisturbed.items() if not key[0].endswith("_sample")}
    assert len(kept) < len(undisturbed)
    made = Told(day, tmp_path)
    made.tell(24)
    made.run()
    for path in made.telemetry.glob("*/*"):
        path.unlink()
    stride = share(4, 1)
    for last in range(seed % stride, 100, stride):
        told = Told(day, tmp_path / str(last))
        shutil.copytree(made.warehouse, told.warehouse)
        shutil.copytree(made.telemetry, told.telemetry)
        was_killed = told.run_killed(monkeypatch, last, LATER)
        # A date is there whole, or not at all.
        assert all(undisturbed[key] == rows for key, rows in told.content().items())
        told.run(LATER)
        assert told.content() == kept
        assert {*Warehouse(told.warehouse).state()["made"]["queue_sample"]} == set()
        if not was_killed:
            break
    assert last > 10


def test_a_kill_at_each_step_of_a_report_leaves_the_old_or_the_new(tmp_path, monkeypatch):
    def write(folder, rows):
        run = Run(None, Warehouse(folder, NOW), tmp_path, Window(START, NOW), quiet=True)
        run.report("blocked", [("n", "number")], [(n,) for n in range(rows)])

    def rows(folder):
        return len(json.loads((folder / "_reports/blocked.json").read_text())["rows"])

    seen = set()
    for last in range(20):
        folder = tmp_path / str(last)
        write(folder, 3)
        if not killed(monkeypatch, last, lambda: write(folder, 5)):  # noqa: B023 - at once
            break
        seen.add(rows(folder))
        Warehouse(folder, NOW).sweep()
        assert [path.name for path in (folder / "_reports").iterdir()] == ["blocked.json"]
        write(folder, 5)
        assert rows(folder) == 5
    assert seen == {3, 5}


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_random_steps_of_many_runs(day, undisturbed, tmp_path, monkeypatch):
    chosen, kills = random.Random(5), 0
    while kills < KILLS:
        told = Told(day, tmp_path / str(kills))
        for part in range(1, 9):
            told.tell(part / 2)
            while told.run_killed(monkeypatch, chosen.randrange(150)):
                kills += 1
        told.tell(24)
        told.run()
        assert told.content() == undisturbed


@pytest.mark.slow
@pytest.mark.timeout(7_200)
def test_processes_that_are_killed_at_random_moments(day, undisturbed, tmp_path):
    chosen, kills, longest_s = random.Random(7), 0, 1.0
    command = [sys.executable, program.__file__]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    while kills < KILLS:
        told = Told(day, tmp_path / str(kills))
        for hours in (*(part / 2 for part in range(1, 9)), 24):
            told.tell(hours)
            is_done = False
            while not is_done:
                words = [*command, str(told.telemetry), str(told.warehouse)]
                with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as process:
                    process.stdout.readline()
                    began_s = time.monotonic()
                    try:
                        is_done = process.wait(chosen.uniform(0, longest_s)) == 0
                        longest_s = max(longest_s / 2, 1.2 * (time.monotonic() - began_s))
                    except subprocess.TimeoutExpired:
                        process.kill()
                        longest_s *= 1.05
                        kills += 1
        assert told.content() == undisturbed
