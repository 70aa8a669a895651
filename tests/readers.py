"""Runs of messages, and consumers without a door: what they were given is kept as seqs. For tests of the core."""

from collections.abc import Sequence
from typing import Any

from pybroker.core.channel.consumer import Consumer
from pybroker.core.channel.receipt import NO_RECEIPT, Receipt
from pybroker.core.channel.state import ChannelState, SessionState
from pybroker.core.queue.queue import Queue
from pybroker.core.topology.vhost import VHost
from pybroker.message import Message
from pybroker.run import PLAIN_ATTRIBUTES, Entry, Run, RunAttributes
from tests.contents import run
from tests.topology import new_vhost, queue as make_queue, wired


def run_of(
    bodies: Sequence[bytes], first_seq: int = 1, attributes: RunAttributes = PLAIN_ATTRIBUTES, arrived_ms: int = 0
) -> Run:
    """Return a run of messages with these bodies."""
    return run(*bodies, first_seq=first_seq, attributes=attributes, arrived_ms=arrived_ms)


def seqs(entries: Any) -> list[int]:
    """Return the seqs of entries or batches, in their order."""
    return [entry.run.first_seq + i for entry in entries for i in entry.indexes]


class Peer(SessionState):
    """A session whose outbox is full when a test says so."""

    def __init__(self, vhost: VHost) -> None:
        super().__init__(vhost.broker, vhost.broker.turn, 1)
        self.vhost = vhost
        self.octets = 0

    def queued(self, octets: int) -> None:
        self.octets += octets


class Reader(Consumer):
    """A consumer that keeps what it gets: `seqs`, and `redelivered` of them."""

    def __init__(self, queue: Queue, channel: ChannelState, tag: str, **options: Any) -> None:
        flags = {"no_ack": False, "exclusive": False, "prefetch": 0, **options}
        priority = flags.pop("priority", 0)
        super().__init__(queue, channel, tag, **flags)
        self.priority = priority
        self.seqs: list[int] = []
        self.redelivered: list[int] = []
        self.told = 0
        self.octets_each = 0

    def deliver(self, run: Run, indexes: range, deliveries: int, first_tag: int) -> int:
        found = [run.first_seq + i for i in indexes]
        self.seqs += found
        if deliveries:
            self.redelivered += found
        assert first_tag + len(found) <= self.channel.next_tag
        return len(found) * self.octets_each

    def cancelled_by_server(self) -> None:
        self.told += 1

    def __repr__(self) -> str:
        return self.tag


class Bench:
    """One queue with readers, its broker's turn run by hand."""

    def __init__(self, vhost: VHost | None = None, name: str = "q", **arguments: Any) -> None:
        self.vhost = new_vhost() if vhost is None else vhost
        self.broker = self.vhost.broker
        self.queue = make_queue(self.vhost, name, wired(**arguments))

    @property
    def now_ms(self) -> int:
        return self.broker.clock.now_ms

    def channel(self) -> ChannelState:
        return ChannelState(Peer(self.vhost))

    def reader(self, tag: str = "c", channel: ChannelState | None = None, **options: Any) -> Reader:
        """Subscribe; on a channel of its own if none is given."""
        channel = self.channel() if channel is None else channel
        reader = Reader(self.queue, channel, tag, **options)
        channel.consumers[tag] = reader
        self.queue.consumers.add(reader)
        self.queue.wake()
        return reader

    def publish(
        self, *bodies: bytes, attributes: RunAttributes = PLAIN_ATTRIBUTES, receipt: Receipt = NO_RECEIPT
    ) -> Run:
        """Put messages into the queue, as one run."""
        run = run_of(bodies, self.broker.log.take(len(bodies)), attributes, self.now_ms)
        self.queue.enqueue(run, range(len(bodies)), receipt)
        return run

    def flood(self, count: int, attributes: RunAttributes = PLAIN_ATTRIBUTES) -> Run:
        return self.publish(*[b"x"] * count, attributes=attributes)

    def turn(self) -> None:
        """End the turn, and those it leads to."""
        turn = self.broker.turn
        for _ in range(10_000):
            if not turn.queues:
                return
            self.broker.pump()
        raise AssertionError("the queues never came to rest")

    def ready(self) -> list[int]:
        """Return the seqs that are ready, in the order in which they would leave."""
        found = [seq for level in self.queue.backlog.levels for seq in seqs(level)]
        assert len(found) == self.queue.messages_ready
        assert self.queue.backlog.octets_ready == sum(
            entry.body_octets for level in self.queue.backlog.levels for entry in level
        )
        return found

    def bodies(self) -> list[bytes]:
        """Return the bodies that are ready."""
        entries: list[Entry] = [entry for level in self.queue.backlog.levels for entry in level]
        return [Message(entry.run, i).body for entry in entries for i in entry.indexes]

    def advance(self, ms: int) -> None:
        """Let time pass; do what is due, and end the turn."""
        self.broker.clock.advance(ms)
        self.broker.timers.run(self.now_ms)
        self.turn()
