"""Heartbeats of both directions. Times are those of the test: the thread is not started."""

import time

import pytest

from pybroker.client.transport.backpressure import Backpressure
from pybroker.client.transport.outbox import Outbox
from pybroker.client.transport.writer import Writer
from pybroker.wire.frame import HEARTBEAT_FRAME


class FakeStream:
    def __init__(self):
        self.sent = b""

    def send(self, octets):
        self.sent += bytes(octets)
        return len(octets)

    def flush(self):
        return True


@pytest.fixture
def stream():
    return FakeStream()


@pytest.fixture
def lost():
    return []


@pytest.fixture
def writer(stream, lost):
    return Writer(Outbox(stream), 10, Backpressure(), lost.append, "test")


def test_a_heartbeat_goes_out_after_half_the_time_without_a_word(writer, stream):
    now_s = time.monotonic()
    writer._outbox.sent_s = now_s - 4
    writer._beat(now_s)
    assert stream.sent == b""
    writer._outbox.sent_s = now_s - 6
    writer._beat(now_s)
    assert stream.sent == HEARTBEAT_FRAME


def test_no_heartbeat_where_octets_wait_already(writer, stream):
    writer._outbox.put(b"x")
    writer._beat(writer.heard_s)
    assert stream.sent == b""


def test_a_broker_that_is_silent_for_two_heartbeats_is_lost(writer, lost):
    writer._outbox.sent_s = writer.heard_s
    writer._beat(writer.heard_s + 20)
    assert lost == []
    writer._beat(writer.heard_s + 21)
    assert lost == ["no data from the broker for 20 s"]


def test_a_broker_that_is_not_listened_to_is_not_judged(writer, lost):
    writer._backpressure.paused = True
    writer._beat(writer.heard_s + 1_000)
    assert lost == []


def test_a_socket_that_breaks_ends_it(lost):
    class Broken(FakeStream):
        def send(self, octets):
            raise BrokenPipeError("broken")

    outbox = Outbox(Broken())
    writer = Writer(outbox, 0, Backpressure(), lost.append, "test")
    outbox.put(b"x")
    outbox.kick.set()
    writer._run()
    assert lost == ["writing to the broker failed: broken"]
