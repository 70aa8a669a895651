"""The memory alarm of a daemon that was filled with small messages and drained but for a few (B5, B18, B20)."""

import contextlib
import json
import time
from collections.abc import Iterator

import pytest
from pamqp import commands

from tests.daemon.running import WAIT_S, Running
from tests.interop.peer import Peer, publish

MESSAGE_OCTETS = 40
ROOM_OCTETS = 10_000_000
# The method with tag, delivery tag and routing key of one letter each; header frame; body frame.
DELIVERY_OCTETS = (7 + 4 + 2 + 8 + 1 + 1 + 2 + 1) + (7 + 14 + 1) + (7 + MESSAGE_OCTETS + 1)
KEPT_PARTS = 1_000
BATCH_MESSAGES = 5_000
SET = "memory resource limit alarm set on node test@here."
CLEARED = "memory resource limit alarm cleared across the cluster"


@pytest.fixture
def daemon(tmp_path) -> Iterator[Running]:
    (tmp_path / "conf").write_text("vm_memory_high_watermark_paging_ratio = 2.0\n")
    options = ("--port", "0", "--bind", "127.0.0.1", "--node", "test@here", "--config", str(tmp_path / "conf"))
    daemon = Running(tmp_path, *options)
    yield daemon
    code, stderr = daemon.stop()
    assert (code, stderr) == (0, "")
    assert "Traceback" not in daemon.log


def measured(daemon) -> dict[str, int]:
    return json.loads(daemon.ctl("status", "--formatter", "json"))["memory"]["total"]


def fill(daemon, peer) -> int:
    """Publish messages no two of which are equal, until the alarm stops that; return how many were sent."""
    before = publish("", "q", bytes(MESSAGE_OCTETS))[: -MESSAGE_OCTETS - 1]
    sent, left = 0, b""
    deadline = time.monotonic() + WAIT_S
    peer.socket.settimeout(0.1)
    while SET not in daemon.log:
        assert time.monotonic() < deadline, daemon.log
        if not left:
            numbers = range(sent, sent + BATCH_MESSAGES)
            left = memoryview(b"".join(b"%b%0*d\xce" % (before, MESSAGE_OCTETS, number) for number in numbers))
            sent += BATCH_MESSAGES
        with contextlib.suppress(TimeoutError):
            left = left[peer.socket.send(left) :]
    return sent - BATCH_MESSAGES if left else sent


def drain(peer, messages: int) -> int:
    """Consume so many, and acknowledge all but one in a thousand; return how many were kept."""
    peer.call(commands.Basic.Consume(queue="q", consumer_tag="c"), commands.Basic.ConsumeOk)
    octets = len(peer.received)
    done = kept = 0
    while done < messages:
        octets += len(peer.socket.recv(1 << 20))
        tags = range(done + 1, octets // DELIVERY_OCTETS + 1)
        done += len(tags)
        acks = [tag for tag in tags if tag % KEPT_PARTS]
        kept += len(tags) - len(acks)
        peer.socket.sendall(b"".join([b"\x01\0\x01\0\0\0\x0d\0\x3c\0\x50%b\0\xce" % tag.to_bytes(8) for tag in acks]))
    return kept


def test_b10_b15_a_limit_that_is_set_counts_at_once(daemon):
    daemon.ctl("set_vm_memory_high_watermark", "0")
    assert SET in daemon.log
    daemon.ctl("set_vm_memory_high_watermark", "0.4")
    assert CLEARED in daemon.log
    assert "no alarms" in daemon.ctl("alarms")


def test_d10_so_does_one_of_the_disk(daemon):
    daemon.ctl("set_disk_free_limit", "mem_relative", "1000000")
    assert "disk resource limit alarm set on node test@here." in daemon.log
    daemon.ctl("set_disk_free_limit", "1000")
    assert daemon.log.count("disk resource limit alarm cleared across the cluster") == 1
    daemon.ctl("set_disk_free_limit", "mem_relative", "1000000")
    daemon.ctl("deactivate_free_disk_space_monitoring")
    assert "Free disk space monitor was manually disabled" in daemon.log
    assert daemon.log.count("disk resource limit alarm cleared across the cluster") == 2
    daemon.ctl("activate_free_disk_space_monitoring")
    assert "Free disk space monitor was enabled" in daemon.log
    assert daemon.log.count("disk resource limit alarm set on node test@here.") == 3


def test_b5_b20_a_backlog_that_is_drained_but_for_a_thousandth_ends_the_alarm(daemon):
    limit = measured(daemon)["used"] + ROOM_OCTETS
    daemon.ctl("set_vm_memory_high_watermark", "absolute", str(limit))
    address = ("127.0.0.1", daemon.port)
    with Peer(address) as publisher, Peer(address) as consumer:
        publisher.open().call(commands.Queue.Declare(queue="q"), commands.Queue.DeclareOk)
        sent = fill(daemon, publisher)
        daemon.wait_for_log("memory_high_watermark set. Memory used:")
        full = measured(daemon)
        assert full["used"] > limit
        # A socket's buffers are still on their way.
        kept = drain(consumer.open(), sent - BATCH_MESSAGES)
        daemon.wait_for_log(CLEARED)
        assert kept > 10
