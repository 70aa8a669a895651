"""pipeline and report: the program is started and its answer shown; a report starts nothing."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from pybrokerctl import pipeline
from tests.ctl.reports.sample import REPORT


@pytest.fixture
def program(monkeypatch):
    """Return what stands for the program: its answer, and the words it was started with."""
    fake = SimpleNamespace(answer={"result": "ok", "message": "done", "rows": 3}, words=[], code=0)

    def run(command, **_):
        assert command[:4] == [sys.executable, "-m", pipeline.PROGRAM, "--tell"]
        fake.words = command[4:]
        said = fake.answer if isinstance(fake.answer, bytes) else json.dumps(fake.answer).encode()
        return SimpleNamespace(stdout=said, returncode=fake.code)

    monkeypatch.setattr(pipeline.subprocess, "run", run)
    return fake


@pytest.fixture
def warehouse(tmp_path):
    (tmp_path / "_reports").mkdir()
    (tmp_path / "_reports/blocked.json").write_text(json.dumps(REPORT))
    return str(tmp_path)


def test_the_answer_is_shown_to_people_and_programs(ctl, program):
    assert ctl("pipeline", "run", "all", "--since", "1d") == (0, "done\n", "")
    assert program.words == ["run", "all", "--since", "1d"]
    code, out, _ = ctl("--formatter", "json", "pipeline", "status")
    assert (code, json.loads(out)["rows"]) == (0, 3)
    ctl("-q", "pipeline", "status")
    assert program.words == ["status", "--quiet"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_command(tmp_path, number):
    (tmp_path / "endless.py").write_text(
        "import os, pathlib, sys, time\n"
        "place = pathlib.Path(sys.argv[-1])\n"
        "place.with_suffix('.new').write_text(str(os.getpid()))\n"
        "place.with_suffix('.new').rename(place)\n"
        "time.sleep(300)\n"
    )
    place = tmp_path / "pid"
    start = f"from pybrokerctl import pipeline; pipeline.PROGRAM = 'endless'; pipeline.run(['{place}'], quiet=False)"
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command = subprocess.Popen([sys.executable, "-c", start], env=os.environ | {"PYTHONPATH": path})
    deadline = time.monotonic() + 30
    while not place.exists():
        assert command.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    program = psutil.Process(int(place.read_text()))
    command.send_signal(number)
    assert command.wait(30) == -number
    while is_running(program):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize("code", [64, 65, 69, 75])
def test_its_failure_is_ours(ctl, program, code):
    program.answer = {"result": "error", "message": "no Java", "exit_code": code}
    assert ctl("pipeline", "run", "all") == (code, "", "Error:\nno Java\n")
    assert json.loads(ctl("pipeline", "run", "all", "--formatter", "json").err)["message"] == "no Java"


def test_a_doctors_bad_news_is_an_answer(ctl, program):
    program.answer = {"result": "error", "checks": [], "message": "BAD Java: none", "exit_code": 69}
    assert ctl("pipeline", "doctor") == (69, "BAD Java: none\n", "")


def test_a_program_that_dies_is_told_of(ctl, program):
    program.answer, program.code = b"", -9
    assert ctl("pipeline", "run", "all") == (70, "", "Error:\nthe pipeline exited with code -9 and no result\n")


def test_a_dry_run_is_the_programs_own_for_run_and_nothing_for_others(ctl, program):
    ctl("pipeline", "run", "all", "--dry-run")
    assert program.words[-1] == "--dry-run"
    program.words = None
    assert ctl("pipeline", "gc", "--dry-run").code == 0
    assert program.words is None


def test_a_report_is_shown_and_starts_nothing(ctl, program, warehouse):
    code, out, err = ctl("report", "blocked", "--warehouse", warehouse)
    assert (code, err, program.words) == (0, "", [])
    assert out.splitlines()[-1] == "<n@h.1.9.0>\t500\t\tfine"
    assert ctl("report", "blocked", "--warehouse", warehouse, "--format", "html").out.startswith("<!doctype html>")
    assert ctl("-s", "--formatter", "csv", "report", "blocked", "--warehouse", warehouse).out.startswith('"conn_id"')


def test_a_fresh_report_runs_what_it_needs_before(ctl, program, warehouse):
    assert ctl("report", "blocked", "--fresh", "--warehouse", warehouse, "--master", "local[1]").code == 0
    assert program.words == ["run", "ingest", "rollup", "blocked", "--warehouse", warehouse, "--master", "local[1]"]


def now(report, **ages):
    """Return a report whose times are so many minutes ago."""
    from datetime import UTC, datetime, timedelta

    moments = {name: datetime.now(UTC) - timedelta(minutes=age) for name, age in ages.items()}
    return json.dumps(report | {name: f"{moment:%Y-%m-%d %H:%M:%S}" for name, moment in moments.items()})


def test_an_old_report_is_no_check(ctl, warehouse, tmp_path):
    code, out, err = ctl("report", "blocked", "--warehouse", warehouse, "--fail-on", "held_ms>90000")
    assert (code, out != "") == (66, True)
    told = "report blocked has nothing newer than 2026-01-06 00:00:00 (UTC), which is older than 2h"
    assert err == f"Error:\n{told}; run 'pybrokerctl pipeline run all'\n"
    assert ctl("report", "blocked", "--warehouse", warehouse).code == 0
    assert ctl("report", "blocked", "--warehouse", warehouse, "--max-age", "1d").code == 66
    assert ctl("report", "blocked", "--warehouse", warehouse, "--max-age", "soon").code == 65
    # It was made now, of a node that has been silent for three hours.
    (tmp_path / "_reports/blocked.json").write_text(now(REPORT, made_at=0, until=0, seen_until=180))
    words = ("report", "blocked", "--warehouse", warehouse, "--fail-on", "held_ms>90000")
    assert ctl(*words).code == 66
    assert ctl(*words, "--max-age", "4h").code == 0


def test_a_report_can_be_a_check(ctl, program, warehouse, tmp_path):
    (tmp_path / "_reports/blocked.json").write_text(now(REPORT, made_at=30, until=30))
    assert ctl("report", "blocked", "--warehouse", warehouse, "--fail-on", "held_ms>60000").code == 1
    assert ctl("report", "blocked", "--warehouse", warehouse, "--fail-on", "held_ms>90000").code == 0
    assert ctl("report", "blocked", "--warehouse", warehouse, "--fail-on", "nonsense").code == 64
    answer = ctl("report", "blocked", "--warehouse", warehouse, "--fail-on", "lacking>1")
    assert (answer.code, answer.out) == (65, "")
    assert ctl("report", "alarms", "--warehouse", warehouse).code == 69


def test_a_report_loads_nothing_of_spark(warehouse):
    code = "import sys; from pybrokerctl.main import main; main(sys.argv[1:]); print(*sys.modules)"
    words = [sys.executable, "-c", code, "report", "blocked", "--warehouse", warehouse]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert not [name for name in loaded if name.split(".")[0] in {"pyspark", "pyarrow", "gevent"}]
    assert not [name for name in loaded if name.startswith(("pybroker.spark", "pybroker.core"))]
