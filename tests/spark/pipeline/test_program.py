"""The program's words, answers and exit codes, as far as no Spark is needed."""

import json
from datetime import UTC, datetime

import pytest

from pybroker.spark.pipeline import program, session
from pybroker.spark.pipeline.failure import FailureError

NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7d", "2026-01-03T12:00:00+00:00"),
        ("36h", "2026-01-09T00:00:00+00:00"),
        ("90m", "2026-01-10T10:30:00+00:00"),
        ("2026-01-01", "2026-01-01T00:00:00+00:00"),
        ("2026-01-01T13:00+02:00", "2026-01-01T11:00:00+00:00"),
    ],
)
def test_times(text, expected):
    assert program.read_time(text, NOW).isoformat() == expected


@pytest.mark.parametrize("text", ["", "d", "-1d", "yesterday", "7 d"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(FailureError) as caught:
        program.read_time(text, NOW)
    assert caught.value.code == 64


def run(capsys, *words):
    code = program.main([*words])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


@pytest.fixture
def places(tmp_path):
    return ["--warehouse", str(tmp_path / "w"), "--telemetry", str(tmp_path / "t")]


def test_a_dry_run_tells_what_would_be_done_and_does_nothing(capsys, places, tmp_path):
    (tmp_path / "t/node_sample").mkdir(parents=True)
    (tmp_path / "t/node_sample/20260105T00.0001.ndjson").write_text("{}\n")
    code, document, err = run(capsys, "run", "all", "--dry-run", *places)
    assert (code, err) == (0, "")
    assert "ingest: node_sample: 1 file" in document["message"]
    assert not (tmp_path / "w").exists()


def test_without_telemetry_there_is_nothing_to_run(capsys, places):
    code, document, err = run(capsys, "run", "all", *places)
    assert (code, document) == (65, None)
    assert "there is no telemetry in" in err


def test_who_started_it_gets_the_failure_as_its_answer(capsys, places):
    code, document, err = run(
        capsys, "--tell", "run", "ingest", "--since", "2026-01-02", "--until", "2026-01-01", *places
    )
    assert (code, document["exit_code"], document["result"], err) == (64, 64, "error", "")
    assert document["message"] == "there are no rows between 2026-01-02 00:00:00 and 2026-01-01 00:00:00"


def test_spark_that_is_missing_is_told_with_69(capsys, places, tmp_path, monkeypatch):
    (tmp_path / "t").mkdir()
    monkeypatch.setattr(session, "check_packages", lambda: (_ for _ in ()).throw(FailureError("needs pyspark", 69)))
    code, document, err = run(capsys, "run", "ingest", "--quiet", *places)
    assert (code, document, err) == (69, None, "Error:\nneeds pyspark\n")


def test_a_second_run_is_told_with_75(capsys, places, tmp_path):
    from pybroker.spark.pipeline.tables import Warehouse

    (tmp_path / "t").mkdir()
    with Warehouse(tmp_path / "w").lock():
        code, _, err = run(capsys, "run", "ingest", *places)
    assert code == 75
    assert "already runs" in err


def test_gc_makes_no_warehouse_where_there_is_none(capsys, places, tmp_path):
    code, document, err = run(capsys, "gc", *places)
    assert (code, document, err) == (69, None, f"Error:\nthere is no warehouse in {tmp_path / 'w'}\n")
    assert not (tmp_path / "w").exists()


def test_a_job_that_reads_tables_alone_asks_for_no_telemetry(capsys, places, monkeypatch):
    monkeypatch.setattr(session, "check_packages", lambda: (_ for _ in ()).throw(FailureError("needs pyspark", 69)))
    assert run(capsys, "run", "capacity", "--quiet", *places)[0] == 69


def test_who_interrupts_it_sees_no_traceback(capsys, places, monkeypatch):
    monkeypatch.setattr(program, "act", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run(capsys, "status", *places) == (130, None, "")


def test_a_folder_is_whole_wherever_spark_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert program.parser().parse_args(["gc", "--warehouse", "w"]).warehouse == tmp_path / "w"


def test_gc_says_what_went(capsys, places, tmp_path):
    (tmp_path / "w").mkdir()
    code, document, _ = run(capsys, "gc", *places)
    assert code == 0
    assert document["message"] == "unfinished removed: 0\nbad files removed: 0\ndates removed: 0"


def test_export_takes_what_the_connector_takes():
    from pybroker.spark.pipeline.export import source_options

    given = program.parser().parse_args(["export", "--queue", "q", "--to", "/x", "--vhost", "v", "--port", "5673"])
    assert source_options(given) == {"queue": "q", "includeProperties": "true", "virtualHost": "v", "port": "5673"}
