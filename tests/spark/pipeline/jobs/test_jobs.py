import json

import pytest

from pybroker.spark.pipeline import jobs
from pybroker.spark.pipeline.run import Run, Window
from pybroker.spark.pipeline.schemas import CONNECTION_1M, NODE_1M, QUEUE_1H, QUEUE_1M
from pybroker.spark.pipeline.tables import Warehouse
from tests.spark.pipeline.jobs.rows import at, put

JOBS_OF_REPORTS = [name for name in jobs.JOBS if name in jobs.REPORTS]


def test_every_report_is_a_jobs():
    assert {*jobs.REPORTS} <= {*jobs.JOBS}


@pytest.mark.parametrize("name", jobs.JOBS)
def test_every_job_runs(name):
    pytest.importorskip("pyspark")
    assert callable(jobs.load(name).run)


@pytest.mark.parametrize("name", JOBS_OF_REPORTS)
def test_a_sum_of_queues_that_came_and_went_has_no_levels(name, tmp_path):
    pytest.importorskip("pyspark")
    warehouse = Warehouse(tmp_path, at(5))
    times = {"last_epoch": 1, "last_seq": 1, "last_ts": at(0, 50), "samples": 1, "deleted": False, "ts": at(0)}
    counts = dict.fromkeys(("publish", "deliver", "ack", "expired", "dropped"), 0)
    for table in (QUEUE_1M, QUEUE_1H):
        put(warehouse, table, {"vhost": "/", "queue": "(others)", **counts, **times})
    put(warehouse, CONNECTION_1M, {"conn_id": "(others:u@/)", "user": "u", "vhost": "/", "ts": at(0), "samples": 1})
    node = {"mem_used_max": 1, "mem_limit": 2, "disk_free_min": 2, "disk_limit": 1, "fds_max": 1, "cpu_ms": 1}
    put(warehouse, NODE_1M, {"ts": at(0), "samples": 6, **node})
    jobs.load(name).run(Run(None, warehouse, tmp_path, Window(at(-60), at(5)), quiet=True))
    report = json.loads((tmp_path / "_reports" / f"{name}.json").read_text())
    assert "(others)" not in [value for row in report["rows"] for value in row]
