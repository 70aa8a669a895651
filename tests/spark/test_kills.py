"""200,000 messages on their way into Parquet while Spark, or the broker, is killed: all arrive.

Twice comes only what the broker flags as redelivered. Slow: each lifetime of Spark costs ten to thirty seconds.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pybroker.client import Properties, connect
from tests.interop.broker_process import BrokerProcess
from tests.ports import free_port

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

MESSAGES = 200_000
PER_TRIGGER = 20_000
JOB = Path(__file__).with_name("drain_job.py")


class Job:
    """The program as a process group of its own: driver, JVM and Python workers."""

    def __init__(self, uri: str, queue: str, folder: Path) -> None:
        self.folder = folder
        command = [sys.executable, str(JOB), uri, queue, str(folder), str(PER_TRIGGER)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self.errors = (folder / "stderr").open("ab")
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=self.errors, text=True, start_new_session=True
        )

    def wait_for(self, condition) -> None:
        deadline = time.monotonic() + 300
        while not condition():
            assert time.monotonic() < deadline, "it never came to that"
            assert self.process.poll() is None, (self.folder / "stderr").read_text()[-4_000:]
            time.sleep(0.01)

    def committed(self) -> int:
        return len(list((self.folder / "checkpoint/commits").glob("[0-9]*")))

    def planned(self) -> int:
        return len(list((self.folder / "checkpoint/offsets").glob("[0-9]*")))

    def kill(self) -> None:
        """End everything that is Spark at one moment."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.errors.close()

    def result(self) -> dict[str, int]:
        output, _ = self.process.communicate(timeout=600)
        self.errors.close()
        assert self.process.returncode == 0, (self.folder / "stderr").read_text()[-4_000:]
        return json.loads(output.splitlines()[-1])


def fill(uri: str, queue: str) -> None:
    with connect(uri) as connection:
        channel = connection.channel()
        channel.confirm_select()
        channel.queue_declare(queue, durable=True)
        persistent = Properties(delivery_mode=2)
        for number in range(MESSAGES):
            channel.basic_publish("", queue, b"%d" % number, persistent)
        channel.wait_for_confirms(120)


def left_in(uri: str, queue: str) -> int:
    with connect(uri) as connection:
        return connection.channel().queue_declare(queue, durable=True).message_count


@pytest.fixture
def start(tmp_path):
    jobs = []

    def start(uri, queue):
        jobs.append(Job(uri, queue, tmp_path))
        return jobs[-1]

    yield start
    for job in jobs:
        if job.process.poll() is None:
            job.kill()


def judge(found):
    print(found)
    assert (found["distinct"], found["highest"]) == (MESSAGES, MESSAGES - 1)
    assert found["unflagged_twice"] == 0
    assert found["rows"] - MESSAGES <= found["redelivered"]


def test_spark_is_killed_in_the_middle_of_a_batch(spark_is_possible, start, uri, channel, name):
    fill(uri, name)
    # Once while a batch is being written, once while the next is being drained.
    job = start(uri, name)
    job.wait_for(lambda: job.committed() >= 2 and job.planned() > job.committed())
    job.kill()
    job = start(uri, name)
    job.wait_for(lambda: job.committed() >= 5 and list((job.folder / "spool").glob("*.tmp")))
    job.kill()
    assert 0 < left_in(uri, name) < MESSAGES
    found = start(uri, name).result()
    judge(found)
    assert left_in(uri, name) == 0
    channel.queue_delete(name)


def test_the_broker_is_killed_in_the_middle_of_a_drain(spark_is_possible, start, tmp_path, name):
    if os.environ.get("INTEROP_BROKER"):
        pytest.skip("a broker that was given is not to be killed")
    port = free_port()
    broker = BrokerProcess(tmp_path / "broker", options=("--port", str(port)))
    try:
        uri = f"amqp://127.0.0.1:{port}"
        fill(uri, name)
        job = start(uri, name)
        job.wait_for(lambda: job.committed() >= 2 and list((job.folder / "spool").glob("*.tmp")))
        broker.process.kill()
        broker.process.wait()
        broker = BrokerProcess(tmp_path / "broker", options=("--port", str(port)))
        job.result()  # it went on when the broker was back
        judge(start(uri, name).result())  # and again for what came back into the queue after its bound was set
        assert left_in(uri, name) == 0
    finally:
        broker.stop()
