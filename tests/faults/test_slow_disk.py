"""Test 7: a disk that takes its time. Clients that do not wait for it do not notice."""

import threading
import time

import pika
import pytest
from pamqp import commands

from tests.checker import History
from tests.faults.disks import strace
from tests.faults.load import Publisher, declare, drain, ready, wait_until
from tests.interop.peer import PERSISTENT, Peer


def transient_round_trips(address, seconds):
    """Publish to a transient queue and wait for each delivery; return how long they took, in seconds."""
    took = []
    with Peer(address) as peer:
        peer.open()
        queue = peer.call(commands.Queue.Declare(exclusive=True), commands.Queue.DeclareOk).queue
        peer.call(commands.Basic.Consume(queue=queue, no_ack=True), commands.Basic.ConsumeOk)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.monotonic()
            peer.publish("", queue, b"x")
            peer.read_delivery()
            took.append(time.monotonic() - began)
            time.sleep(0.002)
        peer.close()
    return sorted(took)


def heartbeats(address, seconds, out):
    """Live on heartbeats of a second; append to `out` when the connection survived."""
    connection = pika.BlockingConnection(pika.ConnectionParameters(*address, heartbeat=1))
    connection.process_data_events(seconds)
    if connection.is_open:
        connection.close()
        out.append("alive")


def stall(broker, seed, delay_s, seconds, tmp_path):
    """Run transient traffic beside persistent publishes whose every fdatasync takes `delay_s`."""
    history = History()
    broker.start()
    declare(broker.address, "slow")
    alive = []
    beating = threading.Thread(target=heartbeats, args=(broker.address, seconds, alive))
    publisher = Publisher(broker.address, history, 1, ("slow",), window=20, seed=seed)
    with strace(broker.process.pid, f"fdatasync:delay_enter={int(delay_s * 1e6)}", tmp_path / "trace") as tracer:
        publisher.start()
        beating.start()
        wait_until(lambda: publisher.in_flight, "something waits for the disk")
        took = transient_round_trips(broker.address, seconds)
        waits = publisher.in_flight
        beating.join()
        stalls = len(tracer.hits)
    publisher.stop()
    drain(broker.address, history, "slow")
    broker.stop()
    assert alive == ["alive"]
    assert waits, "a confirm came before the disk"
    assert stalls, "no fdatasync was slow"
    assert min(publisher.latencies[:20]) > delay_s * 0.9
    verdict = history.judge(fault_wanted=False)
    assert verdict.bad == {}
    figures = {"delay_s": delay_s, "stalls": stalls, "transient_n": len(took)}
    figures["transient_p50_ms"] = round(took[len(took) // 2] * 1_000, 1)
    figures["transient_p99_ms"] = round(took[int(len(took) * 0.99)] * 1_000, 1)
    return verdict, figures


def test_transient_traffic_flows_while_the_log_stalls(broker, seed, publish_line, tmp_path):
    verdict, figures = stall(broker, seed, 1.0, 2.0, tmp_path)
    publish_line(verdict, **figures)
    # As many as there are turns of the disk would be too few.
    assert figures["transient_n"] > 5 * figures["stalls"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("delay_s", [0.2, 1.0, 5.0])
def test_heartbeats_and_transient_queues_keep_their_time(broker, seed, publish_line, tmp_path, delay_s):
    verdict, figures = stall(broker, seed, delay_s, 20.0, tmp_path)
    publish_line(verdict, **figures)
    assert figures["transient_p99_ms"] < 100


def test_a_stop_waits_for_a_slow_disk(broker, tmp_path):
    broker.start()
    declare(broker.address, "slow")
    with strace(broker.process.pid, "fdatasync:delay_enter=300000", tmp_path / "trace"), Peer(broker.address) as peer:
        peer.open()
        peer.publish("", "slow", b"kept", PERSISTENT)
        peer.close()
        broker.stop()
    broker.start()
    assert ready(broker.address, "slow") == [1]
    broker.stop()


@pytest.mark.parametrize("delay_ms", [50, 200])
def test_a_stop_waits_for_the_files_of_new_streams(broker, tmp_path, delay_ms):
    broker.start()
    slow = f"?mkdir,?mkdirat,fsync,fdatasync:delay_enter={delay_ms * 1_000}"
    with strace(broker.process.pid, slow, tmp_path / "trace"), Peer(broker.address) as peer:
        peer.open()
        for number in range(5):
            declaration = commands.Queue.Declare(queue=f"s{number}", durable=True, arguments={"x-queue-type": "stream"})
            peer.call(declaration, commands.Queue.DeclareOk)
        peer.publish("", "s4", b"kept", PERSISTENT)
        peer.close()
        broker.stop()  # the last files were not made yet
    broker.start()
    assert ready(broker.address, "s4") == [1]
    broker.stop()
