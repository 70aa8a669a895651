import pytest

from pybroker.spark.pipeline import jobs


def test_every_report_is_a_jobs():
    assert {*jobs.REPORTS} <= {*jobs.JOBS}


@pytest.mark.parametrize("name", jobs.JOBS)
def test_every_job_runs(name):
    pytest.importorskip("pyspark")
    assert callable(jobs.load(name).run)
