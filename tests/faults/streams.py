"""Publishers and readers of streams under faults, and the verdict on all that they saw.

A `Record` outlives each daemon. An offset holds one message for ever, no message has two offsets, a reader gets offsets
without gaps, a confirmed message is there, and so is one that a reader had, confirmed or not. If a limit lets old
segments go, all this is so from the first offset on, which never goes back.
"""

import contextlib
import struct
import threading
from collections import defaultdict
from functools import partial
from typing import NamedTuple

from pamqp import commands

from tests.checker import Key, read_body
from tests.faults.broker import Broker
from tests.faults.control import GoneError, RefusedError, ask
from tests.faults.load import BASIC_DELIVER, BODY, HEADER, METHOD, WAIT_S, Client, Publisher, wait_until
from tests.interop.peer import NO_PROPERTIES, PERSISTENT, Peer

OFFSET_ENTRY = b"\x0fx-stream-offsetl"
MARKER = 0  # the publisher of what says that a reader has seen all
PREFETCH = 2_000


class Place(NamedTuple):
    """One offset of one stream."""

    stream: str
    offset: int


class Record:
    """All that publishers sent and heard, and at which offset each message was seen; `wrong` are broken promises."""

    def __init__(self) -> None:
        self.sent: set[Key] = set()
        self.confirmed: dict[str, set[Key]] = defaultdict(set)
        self.at: dict[Place, Key] = {}
        self.place: dict[Key, Place] = {}
        self.floor: dict[str, int] = defaultdict(int)
        self.wrong: list[str] = []
        self.nacked = 0
        self.lock = threading.Lock()

    def publish(self, key: Key) -> None:
        """Note that a message is about to be sent."""
        self.sent.add(key)

    def confirm(self, key: Key) -> None:
        """Note that it is kept from now on."""
        self.confirmed[key.queue].add(key)

    def nack(self, key: Key) -> None:
        """Note that it may be kept or not."""
        self.nacked += 1

    def deliver(self, stream: str, offset: int, named: tuple[int, int] | None) -> None:
        """Note a delivery, and whether it contradicts an earlier one."""
        if named is None:
            self.wrong.append(f"{stream} {offset}: not what was published")
            return
        place, key = Place(stream, offset), Key(stream, *named)
        with self.lock:
            if key not in self.sent:
                self.wrong.append(f"{place}: {key} was never sent")
            if (before := self.at.setdefault(place, key)) != key:
                self.wrong.append(f"{place}: it was {before}, is {key} now")
            if (there := self.place.setdefault(key, place)) != place:
                self.wrong.append(f"{key}: it was at {there}, is at {place} too")

    def judge(self, stream: str, found: dict[int, Key], *, bounded: bool) -> None:
        """Compare with all that is in a stream now: a reader `found` it from the first offset on."""
        first, last = min(found), max(found)
        if not bounded and first:
            self.wrong.append(f"{stream}: begins at {first}")
        if first < self.floor[stream]:
            self.wrong.append(f"{stream}: begins at {first}, and began at {self.floor[stream]} before")
        self.floor[stream] = first
        later = [place for place in self.at if place.stream == stream and place.offset > last]
        self.wrong += [f"{place}: {self.at[place]} was delivered and is gone" for place in later]
        # A publisher's messages are in order, so those that went with old segments are before those that stay.
        oldest: dict[int, int] = {}
        for key in found.values():
            oldest[key.publisher] = min(key.number, oldest.get(key.publisher, key.number))
        there = set(found.values())
        for key in sorted(self.confirmed[stream] - there):
            if not bounded or key.number >= oldest.get(key.publisher, 1 << 62):
                self.wrong.append(f"{key}: confirmed, and lost")


class Follower(Client):
    """Reads a stream, acknowledges, and notes the offset of each message; it goes on where another one was."""

    def __init__(
        self, address: tuple[str, int], record: Record, stream: str, offset: object, *, bounded: bool = False
    ) -> None:
        super().__init__(address, record, f"reader of {stream} from {offset}", 0)
        self.record, self.stream, self.bounded = record, stream, bounded
        self.next_offset: int | None = None  # where the next message is to be
        self.found: dict[int, Key] = {}
        self.last: Key | None = None
        self.unacked = self.tag = self.left = 0
        self.offset = -1
        self.body = bytearray()
        self.peer.call(commands.Basic.Qos(0, PREFETCH, False), commands.Basic.QosOk)
        arguments = {"x-stream-offset": offset}
        self.peer.call(commands.Basic.Consume(queue=stream, arguments=arguments), commands.Basic.ConsumeOk)

    def work(self) -> None:
        while not self.stopping.is_set():
            for kind, _, payload in self.frames():
                self._frame(kind, payload)
            if self.unacked > PREFETCH // 4:
                self.peer.send(commands.Basic.Ack(self.tag, multiple=True))
                self.unacked = 0

    def _frame(self, kind: int, payload: bytes) -> None:
        if kind == METHOD and payload[:4] == BASIC_DELIVER:
            self.tag, redelivered = struct.unpack_from(">Q?", payload, 5 + payload[4])
            if redelivered:
                self.record.wrong.append(f"{self.name}: redelivered")
        elif kind == HEADER:
            self.body.clear()
            self.left = struct.unpack_from(">Q", payload, 4)[0]
            self.offset = struct.unpack_from(">q", payload, payload.index(OFFSET_ENTRY) + len(OFFSET_ENTRY))[0]
        elif kind == BODY:
            self.body += payload
            self.left -= len(payload)
            if not self.left:
                self._delivered()

    def _delivered(self) -> None:
        named = read_body(bytes(self.body))
        self.record.deliver(self.stream, self.offset, named)
        self.unacked += 1
        if self.next_offset not in {None, self.offset}:
            # The oldest segments went while it read them.
            self.found.clear()
            if not self.bounded or self.offset < self.next_offset:
                self.record.wrong.append(f"{self.name}: {self.offset} behind {self.next_offset - 1}")
        self.next_offset = self.offset + 1
        if named is not None:
            self.last = self.found[self.offset] = Key(self.stream, *named)


def declare(address: tuple[str, int], streams: dict[str, dict[str, object]]) -> None:
    """Declare streams with these arguments."""
    with Peer(address, timeout_s=WAIT_S) as peer:
        peer.open()
        for name, arguments in streams.items():
            arguments = {"x-queue-type": "stream", **arguments}
            peer.call(commands.Queue.Declare(queue=name, durable=True, arguments=arguments), commands.Queue.DeclareOk)
        peer.close()


def look_at_all(address: tuple[str, int], record: Record, stream: str, *, bounded: bool) -> int:
    """Read a stream from its first offset to its end, and judge it; return the offset of its last message."""
    last = sum(key.publisher == MARKER for key in record.sent)
    marker = Publisher(address, record, MARKER, (stream,), first=last, last=last, properties=PERSISTENT)
    marker.start()
    marker.join(WAIT_S)
    reader = Follower(address, record, stream, "first", bounded=bounded)
    reader.start()
    wait_until(partial(_has_seen, reader, Key(stream, MARKER, last)), f"all of {stream} is read")
    reader.stop()
    record.judge(stream, reader.found, bounded=bounded)
    return max(reader.found)


def _has_seen(reader: Follower, key: Key) -> bool:
    return reader.last == key or reader.failed is not None


class Load:
    """Some publishers and readers of a broker that may die at any moment."""

    def __init__(self, broker: Broker, record: Record, streams: dict[str, dict[str, object]], *, writers: int) -> None:
        self.broker, self.record, self.streams = broker, record, streams
        self.next_number = dict.fromkeys(range(1, writers + 1), 0)
        self.next_offset: dict[str, int] = {}
        self.truncated: set[str] = set()
        self.writers: list[Publisher] = []
        self.readers: list[Follower] = []

    def bounded(self, stream: str) -> bool:
        """Tell whether its oldest messages may go."""
        return "x-max-length-bytes" in self.streams[stream] or stream in self.truncated

    def truncate(self, stream: str, offset: int) -> threading.Thread:
        """Begin to remove the messages before an offset; the broker may die before it has answered."""

        def run() -> None:
            # Refused: it is stopping.
            with contextlib.suppress(GoneError, RefusedError):
                ask(self.broker.process.socket, "stream_truncate", stream=stream, before=str(offset))
                self.record.floor[stream] = max(self.record.floor[stream], offset)

        self.truncated.add(stream)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def begin(self, seed: int, **options: object) -> None:
        """Start all publishers, and readers: at the begin, at the end, and where the last one was."""
        address, names = self.broker.address, tuple(self.streams)
        for number, first in self.next_number.items():
            mode = PERSISTENT if number % 2 else NO_PROPERTIES  # streams keep both
            kept = {"first": first, "seed": seed + number, "properties": mode, **options}
            writer = Publisher(address, self.record, number, names, **kept)
            self.writers.append(writer)
        for name in names:
            for offset in ("first", "next", self.next_offset.get(name, "first")):
                self.readers.append(Follower(address, self.record, name, offset, bounded=self.bounded(name)))
        for client in (*self.writers, *self.readers):
            client.start()

    @property
    def confirmed(self) -> int:
        """Return how many messages were confirmed since `begin`."""
        return sum(writer.confirmed for writer in self.writers)

    def cut(self) -> None:
        """Wait until all have noticed that the broker is gone."""
        for client in (*self.writers, *self.readers):
            client.cut()
        self._end()

    def stop(self) -> None:
        """End all in order: what was published is confirmed."""
        for client in (*self.writers, *self.readers):
            client.stop()
        self._end()

    def _end(self) -> None:
        for writer in self.writers:
            self.next_number[writer.publisher] = writer.number
            if writer.misordered:
                self.record.wrong.append(f"{writer.name}: {writer.misordered} confirms out of order")
        for reader in self.readers:
            if reader.next_offset is not None:
                at = self.next_offset.get(reader.stream, 0)
                self.next_offset[reader.stream] = max(at, reader.next_offset)
        self.writers.clear()
        self.readers.clear()

    def look(self) -> None:
        """Judge all streams; the broker runs, and nobody publishes."""
        for name in self.streams:
            look_at_all(self.broker.address, self.record, name, bounded=self.bounded(name))
