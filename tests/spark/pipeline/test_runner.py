"""Jobs run one after another; how each went is noted, also when one fails."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from pybroker.spark.pipeline import jobs, runner
from pybroker.spark.pipeline.failure import FailureError
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.tables import Warehouse

pytest.importorskip("pyspark")


@pytest.fixture
def run(tmp_path):
    window = Window(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
    return Run(None, Warehouse(tmp_path, datetime(2026, 1, 3, tzinfo=UTC)), tmp_path, window, quiet=True)


def test_figures_are_told_and_noted(run, monkeypatch):
    monkeypatch.setattr(jobs, "load", lambda name: SimpleNamespace(run=lambda _: {"bad lines": 2, "name": name}))
    answer = runner.perform(run, ["ingest"])
    assert answer["message"].startswith("ingest: bad lines 2, name ingest (")
    assert answer["message"].endswith(f"2 lines were invalid and are kept in {run.warehouse.folder / '_bad'}")
    noted = run.warehouse.state()["jobs"]["ingest"]
    assert (noted["at"], noted["figures"]) == ("2026-01-03 00:00:00", {"bad lines": 2, "name": "ingest"})


def test_a_job_that_fails_ends_the_run_with_a_sentence(run, monkeypatch):
    from pyspark.errors import AnalysisException

    def fail(_):
        raise AnalysisException("it broke\nhere\nand so on")

    monkeypatch.setattr(jobs, "load", lambda _: SimpleNamespace(run=fail))
    with pytest.raises(FailureError) as caught:
        runner.perform(run, ["backlog", "alarms"])
    assert caught.value.text.startswith("backlog failed: it broke here (see ")
    assert caught.value.code == 65
    assert run.warehouse.state()["jobs"] == {"backlog": {"at": "2026-01-03 00:00:00", "failed": "it broke here"}}
