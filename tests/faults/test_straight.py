"""A flood of a named publisher of the stream protocol, under signal 9: each message is there once, in order.

After each kill the publisher asks for its last id and goes on behind it, as clients do.
"""

import contextlib
import random
import threading
import time

import pytest

from tests.daemon.running import BASE, Running
from tests.interop.stream.client import Client
from tests.interop.stream.peer import ClosedError, Code, Fields, Key

BODY_OCTETS = 1_000
FRAME_MESSAGES = 200
UNCONFIRMED_MAX = 4_000
LIFE_S = 0.5


class Flood(threading.Thread):
    """Publishes from an id on until its connection ends; `confirmed` is the last id of which all before are."""

    def __init__(self, address, first):
        super().__init__(daemon=True)
        self.client = Client(address, timeout_s=60).open()
        assert self.client.declare(1, "s", "flood") == Code.OK
        self.number, self.confirmed = first, first - 1

    def run(self):
        with self.client, contextlib.suppress(ClosedError, OSError):
            while True:
                numbers = range(self.number, self.number + FRAME_MESSAGES)
                self.number = numbers.stop
                self.client.publish(1, {number: b"%d:" % number + bytes(BODY_OCTETS) for number in numbers})
                while self.number - self.confirmed > UNCONFIRMED_MAX:
                    fields = Fields(self.client.expect(Key.CONFIRM).payload)
                    fields.number(1)
                    for _ in range(fields.number(4)):
                        number = fields.number(8)
                        assert number == self.confirmed + 1
                        self.confirmed = number


class Node:
    """A data folder, and the daemon that runs on it."""

    def __init__(self, folder):
        self.folder = folder
        self.config = folder / "pybroker.conf"
        self.config.write_text("stream.listeners.tcp.1 = 127.0.0.1:0\n")

    def start(self):
        self.running = Running(self.folder, *BASE, config=self.config)
        return "127.0.0.1", int(self.running.places["stream listener"][0].rpartition(":")[2])

    def kill(self):
        self.running.process.kill()
        self.running.process.communicate()


def numbers_in(client, first, stop):
    """Return the number of each message from an offset on, up to another one."""
    assert client.subscribe(9, "s", (4, first), credit=20) == Code.OK
    found = [int(message.body.split(b":")[0]) for message in client.take(stop - first, since=first)]
    client.unsubscribe(9)
    return found


def lifetimes(folder, number, seed):
    """Kill a node so often amid a flood; return how many messages were published."""
    pick, node = random.Random(seed), Node(folder)
    address = node.start()
    with Client(address).open() as client:
        assert client.create("s", max_segment_size_bytes="5000000") == Code.OK
    seen = last = 0
    try:
        for _ in range(number):
            flood = Flood(address, last + 1)
            flood.start()
            time.sleep(pick.uniform(0.02, LIFE_S))
            node.kill()
            flood.join(60)
            address = node.start()
            with Client(address, timeout_s=60).open() as client:
                code, sequence = client.sequence("flood", "s")
                assert code == Code.OK
                assert flood.confirmed <= sequence < flood.number
                assert numbers_in(client, seen, sequence) == list(range(seen + 1, sequence + 1))
                seen = last = sequence
        assert "damage" not in node.running.log
        assert "Traceback" not in node.running.log
    finally:
        node.kill()
    return last


def test_a_flood_outlives_a_few_kills(tmp_path, seed):
    assert lifetimes(tmp_path, 3, seed) > 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_flood_outlives_60_kills(tmp_path, seed):
    assert lifetimes(tmp_path, 60, seed) > 100_000
