"""Clients that load a broker and write down all they see: publishers with windows of confirms, consumers that ack.

Each is a thread with a connection of its own. Each message is noted before it is sent, and each delivery before it is
answered, so that a broker may die at any moment and the history (`checker.py`) still holds.
"""

import contextlib
import random
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from pamqp import commands

from tests.checker import History, Key, body, read_body
from tests.interop.peer import PERSISTENT, ClosedError, Peer, publish

WAIT_S = 60.0
TICK_S = 0.05
METHOD, HEADER, BODY = 1, 2, 3
BASIC_ACK, BASIC_NACK, BASIC_DELIVER = b"\0\x3c\0\x50", b"\0\x3c\0\x78", b"\0\x3c\0\x3c"
QOS_OK = b"\0\x3c\0\x0b"
CHANNEL_CLOSE, CONNECTION_CLOSE = b"\0\x14\0\x28", b"\0\x0a\0\x32"
FANOUT = "amq.fanout"  # stands for all of FANOUT_QUEUES, which the test binds to it
FANOUT_QUEUES = ("k0", "k1")
MARKS = "marks"  # where a consumer proves what of its acks is recorded


def wait_until(met: Callable[[], object], what: str, seconds: float = WAIT_S) -> None:
    """Wait until `met()`, or fail with the sentence `what`."""
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)


def declare(address: tuple[str, int], *queues: str) -> None:
    """Declare durable queues and the one for marks."""
    with Peer(address, timeout_s=WAIT_S) as peer:
        peer.open()
        arguments = {"x-max-length": 1}
        peer.call(commands.Queue.Declare(queue=MARKS, durable=True, arguments=arguments), commands.Queue.DeclareOk)
        for queue in queues:
            peer.call(commands.Queue.Declare(queue=queue, durable=True), commands.Queue.DeclareOk)
        peer.close()


def ready(address: tuple[str, int], *queues: str) -> list[int]:
    """Return how many messages are ready in each of these queues."""
    with Peer(address, timeout_s=WAIT_S) as peer:
        peer.open()
        methods = [commands.Queue.Declare(queue=queue, passive=True) for queue in queues]
        replies = [peer.call(method, commands.Queue.DeclareOk) for method in methods]
        peer.close()
    return [reply.message_count for reply in replies]


class Client(threading.Thread):
    """A connection and the thread that reads it; `stop` ends it in order, a broker that dies ends it too."""

    def __init__(self, address: tuple[str, int], history: History, name: str, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.history = history
        self.random = random.Random(seed)
        self.stopping = threading.Event()
        self.closed_by_broker = ""
        self.failed: BaseException | None = None
        self.peer = Peer(address, timeout_s=WAIT_S)
        self.peer.open(channels=2)
        self.peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)

    def run(self) -> None:
        self.peer.socket.settimeout(TICK_S)
        try:
            self.work()
            self.peer.socket.settimeout(WAIT_S)
            self.peer.close()
        except (ClosedError, OSError) as error:
            self.failed = None if self.closed_by_broker else error
        except BaseException as error:
            self.failed = error
            raise
        finally:
            self.peer.socket.close()

    def work(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        """End in order: what was received has been answered, and the broker has said close-ok."""
        self.stopping.set()
        self.join(WAIT_S)
        assert not self.is_alive(), self.name
        assert self.failed is None, f"{self.name}: {self.failed!r}"

    def cut(self) -> None:
        """Wait for the end after a broker that died: nothing but the connection may have failed."""
        self.join(WAIT_S)
        assert not self.is_alive(), self.name
        assert self.failed is None or isinstance(self.failed, ClosedError | OSError), f"{self.name}: {self.failed!r}"

    def frames(self) -> Iterator[tuple[int, int, bytes]]:
        """Give the frames of what comes within a tick: type, channel, payload."""
        peer = self.peer
        with contextlib.suppress(TimeoutError):
            chunk = peer.socket.recv(1 << 18)
            if not chunk:
                raise ClosedError
            peer.received += chunk
        octets, at = bytes(peer.received), 0
        while at + 7 <= len(octets):
            kind, channel, length = struct.unpack_from(">BHI", octets, at)
            end = at + 7 + length
            if end + 1 > len(octets):
                break
            payload = octets[at + 7 : end]
            at = end + 1
            if kind == METHOD and payload[:4] in {CHANNEL_CLOSE, CONNECTION_CLOSE}:
                self.closed_by_broker = payload[4:].decode(errors="replace")
                raise ClosedError
            yield kind, channel, payload
        del peer.received[:at]


class Publisher(Client):
    """Publishes numbered messages to queues in turn, with at most `window` of them unconfirmed."""

    def __init__(
        self,
        address: tuple[str, int],
        history: History,
        publisher: int,
        queues: tuple[str, ...],
        *,
        first: int = 0,
        last: int = 1 << 62,
        window: int = 100,
        seed: int = 0,
        octets: tuple[int, ...] = (0, 30, 100, 300, 2_000),
        properties: bytes = PERSISTENT,
        rate: int = 1 << 30,
    ) -> None:
        super().__init__(address, history, f"publisher {publisher}", seed)
        self.publisher, self.queues, self.window = publisher, queues, window
        self.number, self.last = first, last
        self.octets, self.properties, self.rate = octets, properties, rate
        self.tag = 0
        self.outstanding: deque[tuple[int, tuple[Key, ...], float]] = deque()
        self.latencies: list[float] = []
        self.confirmed_at = 0.0
        self.confirmed = self.nacked = self.misordered = 0
        self.peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)

    @property
    def in_flight(self) -> int:
        """Return how many messages have been sent without an answer."""
        return len(self.outstanding)

    def work(self) -> None:
        began, before = time.monotonic(), self.number
        while not (self.stopping.is_set() or self.number > self.last) or self.outstanding:
            allowed = int((time.monotonic() - began) * self.rate) + 1 - (self.number - before)
            count = min(self.window - len(self.outstanding), self.last + 1 - self.number, allowed)
            if count > 0 and not self.stopping.is_set():
                self._send(count)
            for kind, _, payload in self.frames():
                if kind == METHOD and payload[:4] in {BASIC_ACK, BASIC_NACK}:
                    self._answered(payload)

    def _send(self, count: int) -> None:
        parts = []
        now = time.monotonic()
        for _ in range(count):
            number, name = self.number, self.queues[self.number % len(self.queues)]
            queues = FANOUT_QUEUES if name == FANOUT else (name,)
            octets = 200_000 if self.random.random() < 0.0005 else self.random.choice(self.octets)
            keys = tuple(Key(queue, self.publisher, number) for queue in queues)
            exchange = FANOUT if name == FANOUT else ""
            parts.append(publish(exchange, name, body(self.publisher, number, octets), self.properties))
            for key in keys:
                self.history.publish(key)
            self.tag += 1
            self.number += 1
            self.outstanding.append((self.tag, keys, now))
        self.peer.socket.settimeout(WAIT_S)
        self.peer.socket.sendall(b"".join(parts))
        self.peer.socket.settimeout(TICK_S)

    def _answered(self, payload: bytes) -> None:
        tag, bits = struct.unpack_from(">QB", payload, 4)
        note = self.history.confirm if payload[:4] == BASIC_ACK else self.history.nack
        waiting = self.outstanding
        now = self.confirmed_at = time.monotonic()
        if not waiting or waiting[0][0] > tag or (not bits & 1 and waiting[0][0] != tag):
            self.misordered += 1
        while waiting and waiting[0][0] <= tag:
            first, keys, sent = waiting[0]
            if bits & 1 or first == tag:
                for key in keys:
                    note(key)
                self.latencies.append(now - sent)
                if payload[:4] == BASIC_ACK:
                    self.confirmed += 1
                else:
                    self.nacked += 1
            waiting.popleft()


class Receiver(Client):
    """A connection that consumes from one queue: `pending` are tag and message of what came and was not answered."""

    def __init__(
        self, address: tuple[str, int], history: History, name: str, queue: str, seed: int, prefetch: int
    ) -> None:
        super().__init__(address, history, name, seed)
        self.queue, self.prefetch = queue, prefetch
        self.who = object()  # each connection is somebody else: order is promised to one consumer
        self.pending: deque[tuple[int, Key | None]] = deque()
        self.received = 0
        self.last_at = time.monotonic()
        self.head: tuple[int, bool] = (0, False)
        self.body = bytearray()
        self.left = 0

    def subscribe(self) -> None:
        """Consume, when what belongs before it has been said."""
        self.peer.call(commands.Basic.Qos(0, self.prefetch, False), commands.Basic.QosOk)
        self.peer.send(commands.Basic.Consume(queue=self.queue, nowait=True))

    def receive(self) -> list[tuple[int, bytes]]:
        """Take what comes within a tick; return the methods that are no deliveries: channel, payload."""
        before, others = self.received, []
        for kind, channel, payload in self.frames():
            if kind == METHOD and payload[:4] == BASIC_DELIVER:
                tag, redelivered = struct.unpack_from(">Q?", payload, 5 + payload[4])
                self.head = tag, redelivered
            elif kind == METHOD:
                others.append((channel, payload))
            elif kind == HEADER:
                self.body.clear()
                self.left = struct.unpack_from(">Q", payload, 4)[0]
            elif kind == BODY:
                self.body += payload
                self.left -= len(payload)
                if not self.left:
                    self._delivered()
        if self.received != before:
            self.last_at = time.monotonic()
        return others

    def _delivered(self) -> None:
        tag, redelivered = self.head
        named = read_body(bytes(self.body))
        key = Key(self.queue, *named) if named else None
        self.history.deliver(key, self.who, redelivered=redelivered)
        self.pending.append((tag, key))
        self.received += 1


class Consumer(Receiver):
    """Acks what it gets, most of it at once; `greedy` keeps nothing back. Marks prove which acks are recorded.

    A mark is a persistent message of its own channel: its confirm says so (`checker.py`: 2). A basic.qos behind the
    acks on theirs says that they are heard.
    """

    def __init__(
        self,
        address: tuple[str, int],
        history: History,
        queue: str,
        *,
        greedy: bool = False,
        marks: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__(address, history, f"consumer of {queue}", queue, seed, 1_000)
        self.greedy, self.marks = greedy, marks
        self.unproven: list[Key] = []
        self.proving: list[Key] = []
        self.unheard: list[Key] = []
        self.hearing: list[Key] = []
        self.peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk, channel=2)
        self.subscribe()

    def work(self) -> None:
        while not self.stopping.is_set():
            for channel, payload in self.receive():
                self._answered(channel, payload[:4])
            self._ack()

    def _answered(self, channel: int, method: bytes) -> None:
        if channel == 2 and method in {BASIC_ACK, BASIC_NACK}:
            if method == BASIC_ACK:
                self.history.certain(self.proving)
            self.proving = []
        elif method == QOS_OK:
            self.history.heard(self.hearing)
            self.hearing = []

    def _ack(self) -> None:
        count = len(self.pending)
        if not self.greedy and count and self.random.random() < 0.4:
            count = self.random.randrange(count)
        if not count:
            return
        for _ in range(count):
            tag, key = self.pending.popleft()
            if key is not None:
                self.history.ack(key)
                self.unproven.append(key)
                self.unheard.append(key)
        self.peer.send(commands.Basic.Ack(tag, multiple=True))
        if self.marks and self.unproven and not self.proving:
            self.proving, self.unproven = self.unproven, []
            self.peer.publish("", MARKS, b"m", PERSISTENT, channel=2)
        if self.marks and not self.hearing:
            self.hearing, self.unheard = self.unheard, []
            self.peer.send(commands.Basic.Qos(0, self.prefetch, False))


def drain(address: tuple[str, int], history: History, *queues: str, seconds: float = WAIT_S) -> int:
    """Take and ack everything out of the queues; return how much it was."""
    deadline, received = time.monotonic() + seconds, 0
    while True:
        consumers = [Consumer(address, history, queue, greedy=True) for queue in queues]
        for consumer in consumers:
            consumer.start()
        wait_until(partial(_idle, address, consumers, queues), f"{queues} drained", deadline - time.monotonic())
        for consumer in consumers:
            consumer.stop()
        received += sum(consumer.received for consumer in consumers)
        # Messages that were still on their way to a slow consumer are ready again now.
        if not any(ready(address, *queues)):
            return received


def _idle(address: tuple[str, int], consumers: list[Consumer], queues: tuple[str, ...]) -> bool:
    """Tell whether nothing has come for a while and nothing is ready, or a consumer failed."""
    quiet = all(time.monotonic() - each.last_at > 4 * TICK_S and not each.pending for each in consumers)
    return (quiet and not any(ready(address, *queues))) or any(each.failed for each in consumers)
