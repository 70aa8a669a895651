"""Rows of a stream, summed by window into another one, while driver, workers and broker are killed: equal sums, once.

PYBROKER_KILLS_ROWS=2000000 PYBROKER_KILLS=5,5,3 PYBROKER_KILLS_SEED=1 in the environment have more rows and kills
(of driver, worker, broker). Slow: each lifetime of Spark costs ten to thirty seconds.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pybroker.client import connect, parse_uri
from pybroker.spark.stream.link import Link, stream_options
from tests.interop.broker_process import BrokerProcess
from tests.ports import free_port
from tests.spark.sink.streams import WAIT_S, bodies

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(7_200)]

ROWS = int(os.environ.get("PYBROKER_KILLS_ROWS", "20000"))
KILLS = [int(each) for each in os.environ.get("PYBROKER_KILLS", "1,1,1").split(",")]
SEED = int(os.environ.get("PYBROKER_KILLS_SEED", "1"))
WINDOW = 100
JOB = Path(__file__).with_name("windows_job.py")
ATTEMPTS_MAX = 10


class Story:
    """A broker and a job that are killed and begun again in the same folders."""

    def __init__(self, folder: Path, how: str) -> None:
        self.folder, self.how = folder, how
        self.port, self.stream_port = free_port(), free_port()
        self.job: subprocess.Popen[bytes] | None = None
        self.start_broker()
        self.uri = f"amqp://127.0.0.1:{self.port}"
        self.options = stream_options(parse_uri(self.uri), self.stream_port)

    def start_broker(self) -> None:
        options = ("--port", str(self.port))
        config = f"stream.listeners.tcp.fixed = 127.0.0.1:{self.stream_port}"
        self.broker = BrokerProcess(self.folder / "broker", config=config, options=options)

    def start_job(self) -> None:
        command = [sys.executable, str(JOB), self.uri, str(self.stream_port), "source", "target"]
        command += [str(self.folder / "checkpoint"), self.how, str(max(1_000, ROWS // 20))]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        with (self.folder / "stderr").open("ab") as errors:
            self.job = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
            )

    def count(self, what: str) -> int:
        return len(list((self.folder / "checkpoint" / what).glob("[0-9]*")))

    def is_running(self) -> bool:
        return self.job is not None and self.job.poll() is None

    def run_until(self, batches: int) -> bool:
        """Have the job plan so many batches, begun again whenever it ended badly; tell whether it still runs."""
        for _ in range(ATTEMPTS_MAX):
            if not self.is_running():
                self.start_job()
            while self.is_running():
                if self.count("offsets") >= batches:
                    return True
                time.sleep(0.05)
            if self.job.returncode == 0:
                return False
        raise AssertionError((self.folder / "stderr").read_text()[-4_000:])

    def kill(self, what: str) -> None:
        if what == "broker":
            self.broker.process.kill()
            self.broker.process.wait()
            self.start_broker()
        elif what == "driver":
            self.end()
        else:
            workers = [
                each for each in psutil.Process(self.job.pid).children(recursive=True) if "pyspark" in _command(each)
            ]
            for worker in workers[-1:]:
                worker.send_signal(signal.SIGKILL)

    def end(self) -> None:
        if self.is_running():
            os.killpg(self.job.pid, signal.SIGKILL)
            self.job.wait()


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.fixture(params=["task", "rows"])
def story(request, spark_is_possible, tmp_path):
    if os.environ.get("INTEROP_BROKER"):
        pytest.skip("a broker that was given is not to be killed")
    story = Story(tmp_path, request.param)
    yield story
    story.end()
    story.broker.stop()


def fill(story: Story, first: int, count: int) -> None:
    with Link(story.options) as link:
        publisher = link.publisher("source")
        for at in range(first, first + count, 10_000):
            some = [b"%d" % number for number in range(at, min(at + 10_000, first + count))]
            publisher.publish(at, [b"\x00Su\xa0%c%b" % (len(each), each) for each in some], WAIT_S)
        publisher.settle(WAIT_S)


def test_sums_are_equal_whatever_is_killed(story):
    rng = random.Random(SEED)
    with connect(story.uri) as connection:
        channel = connection.channel()
        for name in ("source", "target"):
            channel.queue_declare(name, durable=True, arguments={"x-queue-type": "stream"})
    fill(story, 0, ROWS)
    kills = [what for what, times in zip(("driver", "worker", "broker"), KILLS, strict=True) for _ in range(times)]
    rng.shuffle(kills)
    done = []
    for what in kills:
        if not story.run_until(story.count("offsets") + rng.randint(1, 2)):
            break
        time.sleep(rng.random() * 0.5)
        story.kill(what)
        done.append(what)
    story.run_until(1 << 30)
    # A row far behind closes all windows, as time goes on.
    fill(story, 10 * ROWS, 1)
    story.run_until(1 << 30)
    windows = [range(start, min(start + WINDOW, ROWS)) for start in range(0, ROWS, WINDOW)]
    expected = sorted(b"%d %d %d" % (window.start, len(window), sum(window)) for window in windows)
    with Link(story.options) as link:
        found = sorted(bodies(link, "target", len(expected)))
        print(f"seed {SEED}, {ROWS} rows, killed {done}, {story.count('commits')} batches, {len(found)} windows")
        assert expected == found
        assert len(expected) == link.ends("target").next
