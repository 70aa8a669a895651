"""Rows of a stream, summed by window into another one, while driver, workers and broker are killed: equal sums, once.

`tests/spark/killed_program` says how to have more rows and kills.
"""

import sys
from pathlib import Path

import pytest

from pybroker.client import connect
from pybroker.spark.stream.link import Link
from tests.spark.killed_program import KILLS_TIMEOUT_S, ROWS, KilledProgram
from tests.spark.sink.streams import WAIT_S, bodies

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(KILLS_TIMEOUT_S)]

WINDOW = 100
JOB = Path(__file__).with_name("windows_job.py")


@pytest.fixture(params=["task", "rows"])
def job(request, spark_is_possible, tmp_path):
    job = KilledProgram(tmp_path, "checkpoint")
    words = [job.uri, str(job.stream_port), "source", "target", str(tmp_path / "checkpoint"), request.param]
    job.command = [sys.executable, str(JOB), *words, str(max(1_000, ROWS // 20))]
    yield job
    job.end()
    job.broker.stop()


def fill(job, first: int, count: int) -> None:
    with Link(job.options) as link:
        publisher = link.publisher("source")
        for at in range(first, first + count, 10_000):
            some = [b"%d" % number for number in range(at, min(at + 10_000, first + count))]
            publisher.publish(at, [b"\x00Su\xa0%c%b" % (len(each), each) for each in some], WAIT_S)
        publisher.settle(WAIT_S)


def test_sums_are_equal_whatever_is_killed(job):
    with connect(job.uri) as connection:
        channel = connection.channel()
        for name in ("source", "target"):
            channel.queue_declare(name, durable=True, arguments={"x-queue-type": "stream"})
    fill(job, 0, ROWS)
    job.run_and_kill()
    # A row far behind closes all windows, as time goes on.
    fill(job, 10 * ROWS, 1)
    job.run()
    windows = [range(start, min(start + WINDOW, ROWS)) for start in range(0, ROWS, WINDOW)]
    expected = sorted(b"%d %d %d" % (window.start, len(window), sum(window)) for window in windows)
    with Link(job.options) as link:
        found = sorted(bodies(link, "target", len(expected)))
        print(f"{job}, {len(found)} windows")
        assert expected == found
        assert len(expected) == link.ends("target").next
