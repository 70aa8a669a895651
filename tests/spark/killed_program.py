"""A Spark program that goes on where it was, and its broker: killed, and begun again in the same folders.

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

from pybroker.client import parse_uri
from pybroker.spark.stream.address import stream_options
from tests.interop.broker_process import BrokerProcess
from tests.ports import free_port

ROWS = int(os.environ.get("PYBROKER_KILLS_ROWS", "20000"))
KILLS = [int(each) for each in os.environ.get("PYBROKER_KILLS", "1,1,1").split(",")]
SEED = int(os.environ.get("PYBROKER_KILLS_SEED", "1"))
KILLS_TIMEOUT_S = 7_200
ATTEMPTS_MAX = 10


class KilledProgram:
    """`command` says what to start; `checkpoints` are those of its queries, below the folder."""

    def __init__(self, folder: Path, *checkpoints: str) -> None:
        if os.environ.get("INTEROP_BROKER"):
            pytest.skip("a broker that was given is not to be killed")
        self.folder = folder
        self.checkpoints = [folder / each for each in checkpoints]
        self.port, self.stream_port = free_port(), free_port()
        self.program: subprocess.Popen[bytes] | None = None
        self.environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self.command: list[str] = []
        self.done: list[str] = []
        self.start_broker()
        self.uri = f"amqp://127.0.0.1:{self.port}"
        self.options = stream_options(parse_uri(self.uri), self.stream_port)

    @property
    def output(self) -> str:
        """All that its lives wrote."""
        return (self.folder / "output").read_text()

    def start_broker(self) -> None:
        options = ("--port", str(self.port))
        config = f"stream.listeners.tcp.fixed = 127.0.0.1:{self.stream_port}"
        self.broker = BrokerProcess(self.folder / "broker", config=config, options=options)

    def start(self) -> None:
        with (self.folder / "output").open("ab") as output:
            self.program = subprocess.Popen(
                self.command, env=self.environment, stdout=output, stderr=output, start_new_session=True
            )

    def batches(self, what: str = "commits") -> int:
        """Return how many batches all queries have planned (offsets), or completed."""
        return sum(len(list((each / what).glob("[0-9]*"))) for each in self.checkpoints)

    def is_running(self) -> bool:
        return self.program is not None and self.program.poll() is None

    def run_until(self, is_so) -> bool:
        """Have it run until something is so, begun again whenever it ended badly; tell whether it still runs."""
        for _ in range(ATTEMPTS_MAX):
            if not self.is_running():
                self.start()
            while self.is_running():
                if is_so():
                    return True
                time.sleep(0.05)
            if self.program.returncode == 0:
                return False
        raise AssertionError(self.output[-4_000:])

    def run(self) -> None:
        """Have it run to its end, begun again whenever it ended badly."""
        self.run_until(lambda: False)

    def run_and_kill(self) -> None:
        """Have it run to its end while driver, workers and broker are killed, one after the other."""
        rng = random.Random(SEED)
        kills = [what for what, times in zip(("driver", "worker", "broker"), KILLS, strict=True) for _ in range(times)]
        rng.shuffle(kills)
        for what in kills:
            wanted = self.batches("offsets") + rng.randint(1, 2)
            if not self.run_until(lambda wanted=wanted: self.batches("offsets") >= wanted):
                break
            time.sleep(rng.random() * 0.5)
            self.kill(what)
        self.run()

    def kill(self, what: str) -> None:
        self.done.append(what)
        if what == "broker":
            self.broker.process.kill()
            self.broker.process.wait()
            self.start_broker()
        elif what == "driver":
            self.end()
        else:
            children = psutil.Process(self.program.pid).children(recursive=True)
            for worker in [each for each in children if "pyspark" in _command(each)][-1:]:
                worker.send_signal(signal.SIGKILL)

    def end(self) -> None:
        if self.is_running():
            os.killpg(self.program.pid, signal.SIGKILL)
            self.program.wait()

    def __str__(self) -> str:
        return f"seed {SEED}, {ROWS} rows, killed {self.done}, {self.batches()} batches"


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
