"""Pauses under faults: an operator pauses and resumes a queue under load while the broker dies."""

import contextlib
import random
import threading
from typing import Any

from tests.checker import History
from tests.faults.broker import Broker
from tests.faults.control import GoneError, RefusedError, ask
from tests.faults.load import Consumer, Publisher, declare, drain

QUEUE = "q"
LIFE_S = 1.5  # at most
COLUMNS = ["name", "paused", "paused_mode", "paused_why"]
RESUMED = ("", "", "")


class Orders(threading.Thread):
    """Pauses and resumes at random until the node dies. Each order has a reason of its own.

    `known` is what was answered last: whom it stops, how, and why; `asked` the reason of an order without an answer,
    empty for a resume, None if there is none.
    """

    def __init__(self, broker: Broker, seed: int, first: int, known: tuple[str, str, str]) -> None:
        super().__init__(daemon=True)
        self._socket = broker.process.socket
        self._pick = random.Random(seed)
        self._stopping = threading.Event()
        self.number = first
        self.known = known
        self.asked: str | None = None
        self.start()

    def run(self) -> None:
        try:
            while not self._stopping.wait(self._pick.uniform(0, 0.05)):
                self._order()
        except GoneError:
            pass

    def _order(self) -> None:
        if self._pick.random() < 0.5:
            self.asked = ""
            with contextlib.suppress(RefusedError):  # it was not paused
                ask(self._socket, "resume_queue", queue=QUEUE)
            self.known = RESUMED
        else:
            self.number += 1
            self.asked = f"order {self.number}"
            publish, mode = self._pick.choice(((True, "withhold"), (True, "refuse"), (False, "withhold")))
            given = {"publish": publish, "consume": not publish or self._pick.random() < 0.3}
            told = ask(self._socket, "pause_queue", queue=QUEUE, why=self.asked, mode=mode, **given)
            # The mode is one for publishers.
            self.known = told["paused"], told["mode"] if "publish" in told["paused"] else "", told["why"]
        self.asked = None

    def cut(self) -> None:
        """Wait for the end after a broker that died."""
        self._stopping.set()
        self.join(30)
        assert not self.is_alive()

    def has_kept(self, found: tuple[str, str, str]) -> bool:
        """Tell whether an order that was found after a restart is the last one answered, or the one in flight."""
        return found == self.known or (self.asked is not None and found[2] == self.asked)


def order_of(broker: Broker) -> tuple[str, str, str]:
    """Return whom a queue's order stops, how, and why."""
    (row,) = [row for row in ask(broker.process.socket, "list_queues", columns=COLUMNS) if row[0] == QUEUE]
    paused, mode, why = row[1:]
    return paused, mode, why


def under_kills(broker: Broker, kills: int, rng: random.Random) -> tuple[History, dict[str, int]]:
    """Kill the broker so many times under load and orders, then drain; return what clients saw, and counts.

    Counts: orders that were answered, faults amid one, faults while publishers were withheld or refused, or consumers
    held; and `forgotten`, orders that a restart did not find again.
    """
    history, known = History(), RESUMED
    figures = dict.fromkeys(("orders", "amid", "withheld", "refused", "held", "forgotten"), 0)
    broker.start()
    declare(broker.address, QUEUE)
    sent = number = 0
    for at in range(kills):
        orders = Orders(broker, rng.randrange(1 << 30), number, known)
        publisher = Publisher(broker.address, history, at, (QUEUE,), seed=rng.randrange(1 << 30))
        clients = [publisher, Consumer(broker.address, history, QUEUE, seed=rng.randrange(1 << 30))]
        for client in clients:
            client.start()
        orders.join(rng.uniform(0.05, LIFE_S))
        broker.kill()
        orders.cut()
        for client in clients:
            client.cut()
        history.fault(publisher.in_flight)
        sent += publisher.number
        figures["orders"] += orders.number - number
        figures["amid"] += orders.asked is not None
        figures["withheld"] += "publish" in orders.known[0] and orders.known[1] == "withhold"
        figures["refused"] += "publish" in orders.known[0] and orders.known[1] == "refuse"
        figures["held"] += "consume" in orders.known[0]
        broker.start()
        number, known = orders.number, order_of(broker)
        if not orders.has_kept(known):
            figures["forgotten"] += 1
            print(f"found {known}, answered {orders.known}, in flight {orders.asked!r}")
    with contextlib.suppress(RefusedError):
        ask(broker.process.socket, "resume_queue", queue=QUEUE)
    drain(broker.address, history, QUEUE)
    return history, {**figures, "sent": sent}


def kept_although_refused(history: History) -> int:
    """Return how many messages were delivered although they had been refused: an order refuses before it stores."""
    seen: dict[str, set[Any]] = {"nack": set(), "deliver": set()}
    for kind, key, _ in history.events:
        if kind in seen:
            seen[kind].add(key)
    return len(seen["nack"] & seen["deliver"])
