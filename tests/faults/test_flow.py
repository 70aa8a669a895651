"""Flow control on the real daemon: publishers are stopped, consumers go on, and operators are told why (B, D, E)."""

import contextlib
import json
import random
import subprocess
import threading
import time
from collections.abc import Iterator

import psutil
import pytest
from pamqp import commands

from tests.checker import History
from tests.faults.disks import need_root, strace, tmpfs
from tests.faults.flood import Flood, Reader
from tests.faults.load import Consumer, Publisher, declare, drain, wait_until
from tests.interop.peer import PERSISTENT, Peer, publish

MB = 1_000_000
LIMIT_MB = 250
QUEUES = ("flow",)
SMALL_OCTETS = 16


def configured(broker, text: str) -> None:
    """Have the broker start with this configuration."""
    path = broker.folder / "pybroker.conf"
    path.write_text(text)
    broker.options = (*broker.options, "--config", str(path))


def connection(broker, client) -> dict[str, object]:
    """Return what list_connections tells of the client's connection."""
    columns = "peer_port state last_blocked_by last_blocked_age last_blocked_cause blocked_time flow_time flow_count"
    rows = json.loads(broker.ctl("--quiet", "--formatter", "json", "list_connections", *columns.split()))
    (found,) = (row for row in rows if int(row["peer_port"]) == client.port)
    return found


def state(broker, client) -> str:
    return str(connection(broker, client)["state"])


def make(address, *queues: str) -> None:
    """Declare transient queues."""
    with Peer(address) as peer:
        peer.open()
        for queue in queues:
            peer.call(commands.Queue.Declare(queue=queue), commands.Queue.DeclareOk)
        peer.close()


def count(address, queue: str) -> int:
    with Peer(address) as peer:
        peer.open()
        return peer.call(commands.Queue.Declare(queue=queue, passive=True), commands.Queue.DeclareOk).message_count


def fill(address, queue: str, messages: int) -> None:
    """Put small messages into a queue."""
    octets = publish("", queue, b"x" * SMALL_OCTETS) * 1_000
    with Peer(address) as peer:
        peer.open()
        for _ in range(messages // 1_000):
            peer.socket.sendall(octets)
        wait_until(lambda: count(address, queue) >= messages // 1_000 * 1_000, "the queue is filled")


class Rss(threading.Thread):
    """Watches the resident set of a process; `most` is the largest seen, in octets."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process = psutil.Process(pid)
        self.most = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            while not self.stopping.wait(0.02):
                self.most = max(self.most, self.process.memory_info().rss)

    def end(self) -> None:
        self.stopping.set()
        self.join()


@pytest.fixture
def flooding(broker) -> Iterator[list[Flood | Reader | Rss]]:
    """Return a list of what must not outlive the test."""
    threads: list[Flood | Reader | Rss] = []
    yield threads
    for thread in threads:
        thread.end()


def begin(threads, thread):
    threads.append(thread)
    thread.start()
    return thread


def stop_a_flood(broker, flooding, backlog: int, pace_s: float = 0.1) -> dict[str, float]:
    """Fill the memory to the alarm and empty it; return what was measured, paces for so long."""
    configured(
        broker, f"vm_memory_high_watermark.absolute = {LIMIT_MB * MB}\nvm_memory_high_watermark_paging_ratio = 2.0\n"
    )
    address = broker.start()
    make(address, "steady", "flood")
    fill(address, "steady", backlog)
    reader = begin(flooding, Reader(address, "steady", SMALL_OCTETS, backlog // 10))
    wait_until(lambda: reader.received, "the reader reads")
    alone = reader.pace(pace_s)
    rss = begin(flooding, Rss(broker.process.pid))
    flood = begin(flooding, Flood(address, "flood", 1_000))
    wait_until(lambda: state(broker, flood) == "blocked" and flood.is_stuck(), "the publisher is blocked")
    beside = reader.pace(pace_s)
    wait_until(flood.is_stuck, "it stays blocked")
    assert "Memory alarm on node" in broker.ctl("alarms")
    sent = flood.sent_octets
    broker.ctl("purge_queue", "flood")
    began = time.monotonic()
    wait_until(lambda: flood.sent_octets > sent, "publishing goes on")
    resumed_s = time.monotonic() - began
    flood.end()
    return {
        "kept": round(beside / max(alone, 1), 2),
        "rss_parts": round(rss.most / (LIMIT_MB * MB), 2),
        "resumed_s": round(resumed_s, 2),
    }


@pytest.mark.slow
def test_b3_b5_who_heeds_nothing_is_stopped_by_the_memory_alarm_and_goes_on_after_it(broker, flooding):
    figures = stop_a_flood(broker, flooding, 200_000)
    print(json.dumps(figures))
    assert figures["rss_parts"] <= 1.2
    assert f"memory resource limit alarm set on node {'test@here'}." in broker.log
    assert "memory resource limit alarm cleared across the cluster" in broker.log
    broker.stop()


@pytest.mark.slow
def test_a_consumer_beside_a_blocked_publisher_keeps_its_pace(broker, flooding):
    figures = stop_a_flood(broker, flooding, 1_000_000, pace_s=1.5)
    print(json.dumps(figures))
    assert figures["kept"] >= 0.8
    assert figures["rss_parts"] <= 1.2
    assert figures["resumed_s"] <= 1.0
    broker.stop()


def test_d1_a_disk_that_runs_short_blocks_publishers_in_time_and_nothing_is_lost(broker, seed, publish_line):
    need_root()
    history = History()
    with tmpfs(broker.folder, 64 << 20):
        try:
            # As much as a publisher writes between two looks at the disk, on a machine that does much else.
            configured(broker, "disk_free_limit.absolute = 16MB\n")
            address = broker.start()
            declare(address, *QUEUES)
            publisher = Publisher(address, history, 1, QUEUES, seed=seed, octets=(2_000, 20_000), window=1_000)
            publisher.start()
            wait_until(lambda: "Free disk space alarm" in broker.ctl("alarms"), "the disk alarm", 60)
            wait_until(lambda: time.monotonic() - publisher.confirmed_at > 0.5, "no more is confirmed")
            blocked_at = publisher.confirmed
            consumer = Consumer(address, history, *QUEUES, marks=False, greedy=True)
            consumer.start()
            try:
                wait_until(lambda: publisher.confirmed > blocked_at + 500, "publishing goes on by itself", 60)
            except AssertionError:
                report(broker, publisher, consumer)
                raise
            publisher.stop()
            wait_until(lambda: consumer.received >= publisher.confirmed and not consumer.pending, "all is consumed", 60)
            consumer.stop()
            assert "No space left" not in broker.log
            assert "disk resource limit alarm set on node test@here." in broker.log
            broker.stop()
            broker.start()
            drain(broker.address, history, *QUEUES)
            broker.stop()
        finally:
            broker.clean_up()
        verdict = history.judge(confirmed_min=500, fault_wanted=False)
        publish_line(verdict, blocked_at=blocked_at)
    assert (verdict.bad, verdict.void) == ({}, "")


def report(broker, publisher: Publisher, consumer: Consumer) -> None:
    """Print what can be known of a broker in which publishing does not go on."""
    print(f"publisher: confirmed {publisher.confirmed}, in flight {publisher.in_flight}, failed {publisher.failed!r}")
    print(f"consumer: received {consumer.received}, pending {len(consumer.pending)}, failed {consumer.failed!r}")
    queue = "list_queues name messages_ready messages_unacknowledged messages consumers"
    client = "list_connections peer_port state recv_oct send_oct send_pend last_blocked_age last_blocked_cause"
    for command in ("alarms", "why_blocked", "log status", "status", queue, client):
        print(f"$ {command}\n{broker.ctl(*command.split())}")
    for command in (["df"], ["find", "-size", "+64k", "-ls"]):
        print(subprocess.run(command, cwd=broker.folder, check=False, capture_output=True, text=True).stdout)
    print(broker.log[-8_000:])


def why(broker, client) -> str:
    """Return what why_blocked says of the client's connection, empty if it is not held back."""
    rows = json.loads(broker.ctl("--quiet", "--formatter", "json", "why_blocked"))
    rows = rows if isinstance(rows, list) else rows["connections"]
    return next((json.dumps(row) for row in rows if str(client.port) in json.dumps(row)), "")


def test_why_blocked_tells_memory_and_disk(broker, flooding):
    address = broker.start()
    make(address, "q")
    flood = begin(flooding, Flood(address, "q", 10))
    wait_until(lambda: count(address, "q"), "something is published")
    flood.stopping.set()
    flood.join()
    broker.ctl("set_vm_memory_high_watermark", "0")
    told = why(broker, flood)
    assert "memory" in told
    assert "set_vm_memory_high_watermark" in told
    broker.ctl("set_disk_free_limit", "900000GB")
    told = why(broker, flood)
    assert "memory" in told
    assert "set_disk_free_limit" in told
    broker.ctl("set_vm_memory_high_watermark", "0.4")
    assert "disk" in why(broker, flood)
    broker.ctl("set_disk_free_limit", "50MB")
    assert not why(broker, flood)
    flood.end()
    broker.stop()


def watched(broker, client, seconds: float) -> tuple[set[str], int, dict[str, object]]:
    """Return what why_blocked said within so many seconds, how often flow began, and the connection at the end."""
    before, told, until = connection(broker, client), set(), time.monotonic() + seconds
    while time.monotonic() < until:
        told.add(why(broker, client))
    after = connection(broker, client)
    times = int(after["flow_count"]) - int(before["flow_count"])
    print(json.dumps({"flow_count": times, "seconds": seconds, "cause": after["last_blocked_cause"]}))
    return told, times, after


@pytest.mark.slow
def test_why_blocked_tells_the_queue_whose_messages_are_paged_out(broker, flooding, tmp_path):
    configured(broker, f"vm_memory_high_watermark.absolute = {LIMIT_MB * MB}\n")
    address = broker.start()
    make(address, "big")
    rss = begin(flooding, Rss(broker.process.pid))
    # The disk takes a page in fifty milliseconds, which is less than a flood brings.
    with strace(broker.process.pid, "pwrite64:delay_enter=50000", tmp_path / "strace"):
        flood = begin(flooding, Flood(address, "big", 1_000))
        wait_until(lambda: connection(broker, flood)["last_blocked_by"] == "flow", "flow")
        told, times = set(), 0

        def stopped_again() -> bool:
            nonlocal times
            more, again, _ = watched(broker, flood, 1)
            told.update(more)
            times += again
            return times > 1 and any("queue 'big'" in each for each in told)

        wait_until(stopped_again, "flow, because of the queue, again and again")
        after = connection(broker, flood)
        flood.end()
    assert "queue 'big' in vhost '/'" == after["last_blocked_cause"]
    assert "flow" == after["state"]
    assert rss.most < 1.2 * LIMIT_MB * MB
    broker.stop()


@pytest.mark.slow
def test_why_blocked_tells_the_journal_behind_a_slow_disk(broker, flooding, tmp_path):
    address = broker.start()
    declare(address, "q")
    with strace(broker.process.pid, "fdatasync:delay_enter=100000", tmp_path / "strace"):
        flood = begin(flooding, Flood(address, "q", 10_000, PERSISTENT))
        wait_until(lambda: "journal" in why(broker, flood), "the journal")
        wait_until(lambda: watched(broker, flood, 1)[1] > 1, "it goes on, and is stopped again")
        after = connection(broker, flood)
        assert ("flow", "journal") == (after["state"], after["last_blocked_cause"])
        flood.end()
    broker.stop()


def test_why_blocked_tells_a_peer_that_reads_nothing(broker, flooding):
    address = broker.start()
    flood = begin(flooding, Flood(address, "nowhere", 1_000, mandatory=True))
    wait_until(lambda: "peer" in why(broker, flood) and flood.is_stuck(), "the peer")
    assert "flow" == state(broker, flood)
    flood.end()
    broker.stop()


def toggle(broker, rng, until: float) -> int:
    """Set and clear alarms at random; return how often."""
    times = 0
    while time.monotonic() < until:
        times += 1
        broker.ctl("set_vm_memory_high_watermark", rng.choice(("0", "0.4", "0.4")))
        broker.ctl("set_disk_free_limit", rng.choice(("900000GB", "50MB", "50MB")))
        time.sleep(rng.random() * 0.5)
    broker.ctl("set_vm_memory_high_watermark", "0.4")
    broker.ctl("set_disk_free_limit", "50MB")
    return times


def with_alarms_at_random(broker, seed, publish_line, clients: int, seconds: float) -> None:
    history, rng = History(), random.Random(seed)
    address = broker.start()
    queues = tuple(f"q{number}" for number in range(clients))
    declare(address, *queues)
    publishers = [
        Publisher(address, history, number, (queue,), seed=seed + number, octets=(30, 300), rate=100)
        for number, queue in enumerate(queues)
    ]
    consumers = [Consumer(address, history, queue, marks=False, greedy=True) for queue in queues]
    for client in (*consumers, *publishers):
        client.start()
    times = toggle(broker, rng, time.monotonic() + seconds)
    before = [publisher.confirmed for publisher in publishers]
    wait_until(
        lambda: all(p.confirmed > b for p, b in zip(publishers, before, strict=True)), "every publisher goes on", 60
    )
    for publisher in publishers:
        publisher.stop()
    for consumer in consumers:
        consumer.stop()
    states = json.loads(broker.ctl("--quiet", "--formatter", "json", "list_connections", "state"))
    assert [] == states, "no connection is left behind"
    drain(address, history, *queues, seconds=60)
    broker.stop()
    verdict = history.judge(confirmed_min=100, fault_wanted=False)
    publish_line(verdict, alarms=times, clients=2 * clients, seconds=seconds)
    assert (verdict.bad, verdict.void) == ({}, "")


def test_alarms_at_random_lose_nobody(broker, seed, publish_line):
    with_alarms_at_random(broker, seed, publish_line, 5, 4)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_alarms_at_random_lose_nobody_in_ten_minutes(broker, seed, publish_line):
    with_alarms_at_random(broker, seed, publish_line, 50, 600)
