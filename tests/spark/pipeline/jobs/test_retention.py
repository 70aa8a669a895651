from datetime import UTC, datetime

from pybroker.spark.pipeline.jobs import retention
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.tables import Warehouse


def test_what_is_too_old_goes(tmp_path):
    now = datetime(2026, 3, 1, tzinfo=UTC)
    (tmp_path / "node_sample/date=2026-01-01").mkdir(parents=True)
    run = Run(None, Warehouse(tmp_path, now), tmp_path, Window(now, now))
    assert retention.run(run) == {"dates removed": 1, "node_sample": 1}
    assert retention.run(run) == {"dates removed": 0}
