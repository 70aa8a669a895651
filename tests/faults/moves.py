"""Moves under faults: numbered messages in a queue, moved to and fro while the broker dies, then each counted once."""

import contextlib
import random
import re
import threading
import time
from collections import Counter
from typing import Any

from pamqp import commands

from tests.faults.broker import Broker
from tests.faults.control import GoneError, RefusedError, ask
from tests.faults.load import ready
from tests.interop.peer import PERSISTENT, ClosedError, Peer, publish

PORTION = 1_000
_NUMBER = re.compile(rb"MOVE(\d{10})")
_ZERO = b"MOVE%010d"


def fill(
    address: tuple[str, int], queue: str, count: int, *, size: int = 100, properties: bytes = PERSISTENT, first: int = 0
) -> None:
    """Publish messages with the numbers from `first` on; all are confirmed when this returns."""
    octets = publish("", queue, (_ZERO % 0).ljust(size, b"x"), properties)
    at = octets.index(b"MOVE") + 4
    head, tail = octets[:at], octets[at + 10 :]
    with Peer(address, timeout_s=120) as peer:
        peer.open()
        peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
        sent = first
        while sent < first + count:
            portion = min(PORTION, first + count - sent)
            peer.socket.sendall(b"".join([b"%s%010d%s" % (head, sent + i, tail) for i in range(portion)]))
            sent += portion
            if (sent - first) % (50 * PORTION) == 0 or sent == first + count:
                while peer.expect(commands.Basic.Ack).delivery_tag < sent - first:
                    pass
        peer.close()


def drain(address: tuple[str, int], queue: str) -> list[int]:
    """Take all that is ready in a queue; return the numbers in the order in which they came."""
    (count,) = ready(address, queue)
    numbers: list[int] = []
    with Peer(address, timeout_s=120) as peer:
        peer.open()
        peer.send(commands.Basic.Consume(queue=queue, no_ack=True))
        rest = b""
        while len(numbers) < count:
            chunk = peer.socket.recv(1 << 20)
            assert chunk, "the broker closed the connection"
            octets = rest + chunk
            found = list(_NUMBER.finditer(octets))
            numbers += [int(each[1]) for each in found]
            rest = octets[max(found[-1].end() if found else 0, len(octets) - 13) :]
    return numbers


class Mover(threading.Thread):
    """Runs a command on the node; `value`, `refused` or neither if the node died meanwhile."""

    def __init__(self, broker: Broker, command: str, **args: Any) -> None:
        super().__init__(daemon=True)
        self._broker = broker.process.socket
        self._command = command
        self._args = args
        self.value: Any = None
        self.refused = ""
        self.start()

    def run(self) -> None:
        try:
            self.value = ask(self._broker, self._command, **self._args)
        except RefusedError as refused:
            self.refused = str(refused)
        except GoneError:
            pass


def dead_letter(queue: str) -> bytes:
    """Return the properties of a persistent message that was rejected in a queue."""
    death = {"queue": queue, "reason": "rejected", "exchange": "", "routing-keys": [queue], "count": 1}
    properties: bytes = commands.Basic.Properties(delivery_mode=2, headers={"x-death": [death]}).marshal()
    return properties


def to_and_fro(
    broker: Broker,
    count: int,
    kills: int,
    rng: random.Random,
    life_s: float = 1.0,
    *,
    redrive: bool = False,
    full: bool = False,
) -> dict[str, int]:
    """Kill the broker so many times while messages move between the queues `a` and `b`; return what came of them.

    Messages of `a` are dead letters of `b` if they are to be redriven; `b` may be too small for all (`full`). Counts:
    those lost, those there twice, moves that were answered, and faults amid one.
    """
    answered = amid = 0
    for _ in range(kills):
        to_b = ready(broker.address, "a")[0] > (rng.choice((0, count // 2)) if full else 0)
        source, target = "ab" if to_b else "ba"
        if redrive and source == "a":
            mover = Mover(broker, "redrive", queue="a")
        else:
            mover = Mover(broker, "move_messages", source=source, to=target)
        deadline = time.monotonic() + rng.uniform(0, life_s)
        mover.join(max(0.0, deadline - time.monotonic()))
        amid += mover.is_alive()
        broker.kill()
        mover.join(30)
        broker.start()
        left = dict(zip("ab", ready(broker.address, "a", "b"), strict=True))
        assert sum(left.values()) == count, left
        if mover.value is not None:
            answered += 1
            assert left[source] == 0, left
        else:
            assert full or not mover.refused, mover.refused
    found = Counter(drain(broker.address, "a") + drain(broker.address, "b"))
    return {
        "lost": count - len(found),
        "twice": sum(times - 1 for times in found.values()),
        "answered": answered,
        "amid": amid,
    }


class Deleter(threading.Thread):
    """Deletes a queue; `messages` is how many went with it, None if the node died before it answered."""

    def __init__(self, address: tuple[str, int], queue: str) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._queue = queue
        self.messages: int | None = None
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError, AssertionError, ClosedError), Peer(self._address) as peer:
            peer.open()
            answer = peer.call(commands.Queue.Delete(queue=self._queue), commands.Queue.DeleteOk)
            self.messages = answer.message_count


def to_deleted(broker: Broker, count: int, kills: int, rng: random.Random, life_s: float = 1.0) -> dict[str, int]:
    """Kill the broker so many times while messages move from `a` to `b` and that is deleted; return what came of it.

    At most as many have gone as a delete says, and exactly as many as the move says: the rest is in `a`, in order.
    (A delete may be on disk before the last steps of the move are, if nobody was told of these.) Counts: messages lost
    otherwise, those there twice, deletes and moves that were answered, and faults amid a move and amid a delete.
    """
    figures = Counter(lost=0, twice=0, deleted=0, answered=0, amid=0, amid_delete=0)
    for _ in range(kills):
        fill(broker.address, "a", count)
        mover = Mover(broker, "move_messages", source="a", to="b")
        mover.join(rng.uniform(0, life_s))
        figures["amid"] += mover.is_alive()
        deleter = Deleter(broker.address, "b")
        deleter.join(rng.choice((0, 0.01, 0.05, 0.3)) * rng.random())
        figures["amid_delete"] += deleter.is_alive()
        broker.kill()
        mover.join(30)
        deleter.join(30)
        broker.start()
        is_there = ["b"] in ask(broker.process.socket, "list_queues", columns=["name"])
        declare(broker.address, b={})
        found = drain(broker.address, "b") + drain(broker.address, "a")
        gone = count - len(set(found))
        figures["twice"] += len(found) - len(set(found))
        if is_there:
            figures["lost"] += gone
        if deleter.messages is not None:
            assert not is_there
            figures["deleted"] += 1
            figures["lost"] += max(0, gone - deleter.messages)
        if stopped := re.match(r"([\d,]+) messages? moved, then it stopped", mover.refused):
            figures["answered"] += 1
            figures["lost"] += max(0, gone - int(stopped[1].replace(",", "")))
            assert gone == int(stopped[1].replace(",", "")), (gone, mover.refused)
        assert found == list(range(gone, count)), (gone, len(found), found[:3], found[-3:], mover.refused)
    return dict(figures)


def declare(address: tuple[str, int], **queues: dict[str, Any]) -> None:
    """Declare durable queues with arguments."""
    with Peer(address) as peer:
        peer.open()
        for name, arguments in queues.items():
            peer.call(commands.Queue.Declare(queue=name, durable=True, arguments=arguments), commands.Queue.DeclareOk)
        peer.close()
