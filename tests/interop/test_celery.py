"""Celery's workers and kombu's consumers with the installed daemon: what most Python applications do with a broker."""

import contextlib
import importlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources import ROOT

celery = pytest.importorskip("celery", reason="no Celery: pip install celery")
kombu = pytest.importorskip("kombu", reason="no kombu: pip install kombu")
pytest.importorskip("kombu.pools")

TASKS = "tests.interop.celery_tasks"
START_S = 30.0
WAIT_S = 30.0


def until(true: Callable[[], Any], seconds: float = WAIT_S) -> Any:
    """Wait for something to be true, and return what it is."""
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, "too late"
        time.sleep(0.02)
    return found


class Worker:
    """A Celery worker as a process, with processes of its own."""

    def __init__(self, folder: Path, environment: dict[str, str], *options: str, name: str = "w") -> None:
        self.log = folder / f"{name}.log"
        command = [sys.executable, "-m", "celery", "-A", TASKS, "worker", "-n", f"{name}@test"]
        command += ["--loglevel", "INFO", "--without-gossip", "--without-mingle", *options]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: " ready." in self.text or self.process.poll() is not None, START_S)
        assert self.process.poll() is None, self.text

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """End it as a machine that fails does: it, and all its processes, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
        assert "Unrecoverable" not in self.text
        assert "Traceback" not in self.text


class Bench:
    """The tasks as a producer has them, and the workers that it starts."""

    def __init__(self, folder: Path, url: str, *, queue_type: str = "classic", backend: str = "rpc://") -> None:
        self.folder = folder
        self.environment = os.environ | {
            "CELERY_BROKER": url,
            "CELERY_BACKEND": backend,
            "CELERY_QUEUE_TYPE": queue_type,
        }
        os.environ |= {key: value for key, value in self.environment.items() if key.startswith("CELERY_")}
        # It reads them again.
        sys.modules.pop(TASKS, None)
        self.tasks = importlib.import_module(TASKS)
        self.workers: list[Worker] = []

    def worker(self, *options: str, **names: str) -> Worker:
        worker = Worker(self.folder, self.environment, *options, **names)
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        for worker in self.workers:
            worker.stop()
        app = self.tasks.app
        with contextlib.suppress(AttributeError):  # who never asked for a result, or has its results in files
            app.backend.result_consumer.stop()
        app.close()
        kombu.pools.reset()


@pytest.fixture
def url(broker) -> str:
    return f"amqp://guest:guest@{broker.host}:{broker.port}//"


@pytest.fixture
def bench(broker, url, tmp_path) -> Iterator[Bench]:
    bench = Bench(tmp_path, url)
    yield bench
    bench.close()
    with broker.pika() as connection:
        channel = connection.channel()
        for queue in ("tasks-classic", "urgent"):
            channel.queue_delete(queue)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_tasks_retries_and_revocation(bench):
    bench.worker("--pool", "threads", "--concurrency", "4")
    tasks = bench.tasks
    never = tasks.add.apply_async((1, 1), countdown=2)
    never.revoke()
    assert [2 * n for n in range(200)] == [each.get(WAIT_S) for each in [tasks.add.delay(n, n) for n in range(200)]]
    assert 2 == tasks.third_time.delay(0.3).get(WAIT_S)
    with pytest.raises(celery.exceptions.TaskRevokedError):
        never.get(WAIT_S)


@pytest.mark.slow
def test_tasks_to_come_raise_the_prefetch_and_hold_up_no_others(bench):
    # Celery raises its limit by one or two in a second, with RabbitMQ as well.
    bench.worker("--pool", "prefork", "--concurrency", "2")
    later = [bench.tasks.add.apply_async((n, 0), countdown=15) for n in range(10)]
    assert 3 == bench.tasks.add.delay(1, 2).get(WAIT_S)
    assert not any(each.ready() for each in later)
    assert list(range(10)) == [each.get(WAIT_S) for each in later]


@pytest.mark.slow
def test_a_worker_that_is_killed_gives_back_what_it_had(bench, tmp_path):
    notes = tmp_path / "notes"
    first = bench.worker("--pool", "prefork", "--concurrency", "2", name="first")
    results = [bench.tasks.note.delay(str(notes), str(n), 3.0) for n in range(4)]
    until(lambda: len(lines(notes)) == 2)
    first.kill()
    bench.workers.remove(first)
    bench.worker("--pool", "prefork", "--concurrency", "4", name="second")
    redelivered = [each.get(WAIT_S) for each in results]
    assert ["0", "1", "2", "3"] == sorted(line.split()[1] for line in lines(notes) if line.startswith("end"))
    begun_twice = [line.split()[1] for line in lines(notes) if line.startswith("begin")]
    assert 2 == len(begun_twice) - len(set(begun_twice))
    assert redelivered.count(True) >= 2


@pytest.mark.slow
def test_urgent_tasks_come_first(bench, tmp_path):
    notes = tmp_path / "notes"
    bench.tasks.urgent(bench.tasks.app.pool.acquire(block=True).default_channel).declare()
    results = [
        bench.tasks.note.apply_async((str(notes), str(n % 10)), queue="urgent", priority=n % 10) for n in range(30)
    ]
    bench.worker("--pool", "solo")
    for each in results:
        each.get(WAIT_S)
    assert sorted("0123456789" * 3, reverse=True) == [line.split()[1] for line in lines(notes) if "begin" in line]


@pytest.mark.slow
def test_a_chord_comes_together(url, broker, tmp_path):
    # The backend rpc:// cannot do it, with any broker.
    backend = tmp_path / "results"
    backend.mkdir()
    bench = Bench(tmp_path, url, backend=f"file://{backend}")
    try:
        bench.worker("--pool", "threads", "--concurrency", "4")
        tasks = bench.tasks
        chord = celery.chord((tasks.add.s(n, n) for n in range(20)), tasks.total.s())
        assert 380 == chord().get(WAIT_S)
    finally:
        bench.close()


@pytest.mark.slow
def test_tasks_of_a_quorum_queue_are_delayed_by_the_broker(url, broker, tmp_path):
    # Celery makes 28 queues with TTLs of powers of two, whose dead letters go on to the next at least once.
    bench = Bench(tmp_path, url, queue_type="quorum")
    try:
        bench.worker("--pool", "threads", "--concurrency", "2")
        tasks = bench.tasks
        began = time.monotonic()
        later = [tasks.add.apply_async((n, 0), countdown=3) for n in range(50)]
        assert 3 == tasks.add.delay(1, 2).get(WAIT_S)
        waiting = broker.ctl("-q", "list_queues", "name", "messages", "type").splitlines()
        assert "celery_delayed_1\t50\tquorum" in waiting
        assert list(range(50)) == [each.get(WAIT_S) for each in later]
        assert time.monotonic() - began > 2.5
        assert 2 == tasks.third_time.delay(1).get(WAIT_S)
    finally:
        bench.close()


# -- kombu ------------------------------------------------------------------------------------------------------------


def test_a_consumer_of_kombu_requeues_rejects_and_raises_its_prefetch(broker, url):
    dead = kombu.Queue("kombu-dead")
    queue = kombu.Queue(
        "kombu", queue_arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "kombu-dead"}
    )
    seen: list[tuple[Any, bool, int | None]] = []

    def take(body: Any, message: Any) -> None:
        seen.append((body, message.delivery_info["redelivered"], message.headers.get("x-delivery-count")))
        if body == {"n": 0} and len(seen) < 20:
            message.requeue()
        elif body == {"n": 1}:
            message.reject()
        else:
            message.ack()

    with kombu.Connection(url, heartbeat=10) as connection:
        channel = connection.channel()
        for each in (dead(channel), queue(channel)):
            each.declare()
        with kombu.Producer(channel) as producer:
            for n in range(30):
                producer.publish({"n": n}, routing_key="kombu", delivery_mode=2)
        with kombu.Consumer(channel, [queue], callbacks=[take], prefetch_count=1) as consumer:
            for prefetch in range(1, 20):
                consumer.qos(prefetch_count=prefetch)
                connection.drain_events(timeout=WAIT_S)
            with contextlib.suppress(socket.timeout):
                while True:
                    connection.drain_events(timeout=0.3)
        connection.heartbeat_check()
        counts = [count for body, redelivered, count in seen if body == {"n": 0} and redelivered]
        assert (list(range(1, len(counts) + 1)) if broker.is_ours else counts) == counts
        assert set(range(30)) == {body["n"] for body, _, _ in seen}
        letter = until(lambda: dead(channel).get())
        assert ({"n": 1}, "rejected") == (letter.payload, letter.headers["x-first-death-reason"])
        letter.ack()
        for each in (dead(channel), queue(channel)):
            each.delete()
