"""Clients for tests of flow control: one that publishes and heeds nothing, one that consumes at a steady pace.

Both count in messages, and neither decodes what it can count: a test is about the broker's speed, not about theirs.
"""

import threading
import time

from pamqp import commands

from tests.interop.peer import NO_PROPERTIES, Peer, publish

WAIT_S = 60.0
# How long a thread waits for its socket before it looks whether it is to end.
TICK_S = 0.2
BATCH = 64


class Flood(threading.Thread):
    """Publishes as fast as the socket takes it and never reads. `sent` counts messages that the socket took whole."""

    def __init__(
        self, address: tuple[str, int], queue: str, octets: int, properties: bytes = NO_PROPERTIES, **options: object
    ) -> None:
        super().__init__(name=f"flood of {queue}", daemon=True)
        self.peer = Peer(address, timeout_s=WAIT_S).open()
        bodies = [(b"%06d " % number * octets)[:octets] for number in range(BATCH)]
        self.batch = b"".join(publish("", queue, body, properties, **options) for body in bodies)
        self.sent_octets = 0
        self.peer.socket.settimeout(TICK_S)
        self.stopping = threading.Event()

    @property
    def sent(self) -> int:
        return self.sent_octets * BATCH // len(self.batch)

    @property
    def port(self) -> int:
        return self.peer.socket.getsockname()[1]

    def run(self) -> None:
        left = memoryview(self.batch)
        while not self.stopping.is_set():
            try:
                sent = self.peer.socket.send(left)
            except TimeoutError:
                continue
            except OSError:
                return
            self.sent_octets += sent
            left = left[sent:] or memoryview(self.batch)

    def is_stuck(self, seconds: float = 0.5) -> bool:
        """Tell whether nothing more can be sent for so long."""
        before = self.sent_octets
        time.sleep(seconds)
        return self.sent_octets == before

    def end(self) -> None:
        """Hang up, whatever is on its way."""
        self.stopping.set()
        self.join(WAIT_S)
        self.peer.socket.close()


class Reader(threading.Thread):
    """Consumes messages of one size with acknowledgements, at most `rate` a second; `received` counts them."""

    def __init__(self, address: tuple[str, int], queue: str, octets: int, rate: int) -> None:
        super().__init__(name=f"reader of {queue}", daemon=True)
        self.peer = Peer(address, timeout_s=WAIT_S).open()
        self.peer.call(commands.Basic.Qos(0, 500, False), commands.Basic.QosOk)
        self.peer.call(commands.Basic.Consume(queue=queue, consumer_tag="c"), commands.Basic.ConsumeOk)
        self.peer.socket.settimeout(TICK_S)
        # basic.deliver: tag, delivery tag, redelivered, exchange "", key; header without properties; one body frame.
        self.each = 7 + 4 + 2 + 8 + 1 + 1 + 1 + len(queue) + 1 + 7 + 14 + 1 + 7 + octets + 1
        self.rate = rate
        self.received = 0
        self.stopping = threading.Event()

    def run(self) -> None:
        octets = len(self.peer.received)
        began = time.monotonic()
        while not self.stopping.is_set():
            received = octets // self.each
            if received > self.received:
                self.received = received
                self.peer.send(commands.Basic.Ack(received, multiple=True))
            ahead_s = received / self.rate - (time.monotonic() - began)
            if ahead_s > 0:
                time.sleep(ahead_s)
            try:
                octets += len(self.peer.socket.recv(1 << 18))
            except TimeoutError:
                continue
            except OSError:
                return

    def pace(self, seconds: float) -> float:
        """Return messages a second during the next seconds."""
        before, began = self.received, time.monotonic()
        time.sleep(seconds)
        return (self.received - before) / (time.monotonic() - began)

    def end(self) -> None:
        """Hang up."""
        self.stopping.set()
        self.join(WAIT_S)
        self.peer.socket.close()
