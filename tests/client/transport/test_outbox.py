"""Octets that wait to be sent: gathered, in order, never lost, never too many."""

import threading
import time

import pytest

from pybroker.client.errors import ConnectionLost
from pybroker.client.transport import outbox as module
from pybroker.client.transport.outbox import GATHER_OCTETS, OCTETS_MAX, Outbox
from tests.client.scripted import WAIT_S, in_thread


class FakeStream:
    """Takes as many octets as it is allowed to."""

    def __init__(self):
        self.room = 1 << 30
        self.sent = []
        self.waits = 0

    def send(self, octets):
        taken = bytes(octets[: self.room])
        self.room -= len(taken)
        if taken:
            self.sent.append(taken)
        return len(taken)

    def flush(self):
        return True

    def wait_writable(self, timeout_s):
        self.waits += 1
        self.room += 3


@pytest.fixture
def stream():
    return FakeStream()


@pytest.fixture
def outbox(stream):
    return Outbox(stream)


def test_a_single_message_leaves_at_once(outbox, stream):
    outbox.put(b"a")
    outbox.push()
    assert (stream.sent, outbox.octets, outbox.kick.is_set()) == ([b"a"], 0, False)


def test_messages_close_behind_each_other_are_gathered(outbox, stream, monkeypatch):
    monkeypatch.setattr(module, "GATHER_S", 1_000.0)
    outbox.sent_s = time.monotonic()
    for _ in range(GATHER_OCTETS // 1_024 - 1):
        outbox.put(b"x" * 1_024)
        outbox.push()
    assert (stream.sent, outbox.kick.is_set()) == ([], True)
    outbox.put(b"x" * 1_024)
    outbox.push()
    assert [len(sent) for sent in stream.sent] == [GATHER_OCTETS]


def test_what_the_system_does_not_take_is_the_writers(outbox, stream):
    stream.room = 2
    outbox.put(b"abc")
    outbox.put(b"def")
    outbox.flush()
    assert (stream.sent, outbox.octets, outbox.kick.is_set()) == ([b"ab"], 4, True)
    assert outbox.drain(time.monotonic() + WAIT_S)
    assert (b"".join(stream.sent), outbox.octets) == (b"abcdef", 0)


def test_a_drain_gives_up_in_time(outbox, stream):
    stream.room = 0
    stream.wait_writable = lambda timeout_s: None
    outbox.put(b"abc")
    assert not outbox.drain(time.monotonic())


def test_publishers_wait_for_room(outbox, stream):
    outbox.put(b"x" * OCTETS_MAX)
    assert not outbox.wait_for_room(0)
    waiting = in_thread(outbox.wait_for_room, WAIT_S)
    outbox.flush()
    assert waiting.result(WAIT_S)


def test_the_end_wakes_who_waits_and_refuses_what_comes_later(outbox):
    outbox.put(b"x" * OCTETS_MAX)
    waiting = in_thread(outbox.wait_for_room, WAIT_S)
    outbox.close()
    with pytest.raises(ConnectionLost):
        waiting.result(WAIT_S)
    with pytest.raises(ConnectionLost):
        outbox.put(b"x")


def test_g12_octets_of_many_threads_come_in_pieces_as_they_were_put(outbox, stream):
    def publish(letter):
        for _ in range(200):
            outbox.put(letter * 10)
            outbox.push()

    threads = [threading.Thread(target=publish, args=(b"%c" % (65 + i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    outbox.flush()
    octets = b"".join(stream.sent)
    assert len(octets) == 4 * 200 * 10
    assert all(len(set(octets[at : at + 10])) == 1 for at in range(0, len(octets), 10))
