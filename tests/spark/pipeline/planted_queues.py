"""Queues with faults planted in them, stepped second by second for two hours, and normal ones beside.

Their counts are the truth that reports are compared with. `planted.py` samples them as nodes do.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

MIB = 1 << 20
SECONDS = 7_200
ONE, TWO, BACK = "pybroker@one", "pybroker@two", "pybroker@back"

COUNTED = ("publish", "deliver", "ack", "redeliver", "expired", "dropped", "rejected", "requeue", "purged")
Row = dict[str, Any]


class Queue:
    """A queue as a broker counts it. `step` is called with it and the second."""

    def __init__(self, name: str, step: Callable[["Queue", int], None], **facts: Any) -> None:
        self.name, self.step = name, step
        self.vhost = facts.pop("vhost", "/")
        self.consumers: int = facts.pop("consumers", 1)
        self.length_max: int | None = facts.pop("length_max", None)
        self.octets_max: int | None = facts.pop("octets_max", None)
        self.size: int = facts.pop("size", 100)
        self.born: int = facts.pop("born", 0)
        self.died: int = facts.pop("died", SECONDS + 1)
        self.is_told: bool = facts.pop("is_told", True)  # the node writes a last row when it is deleted
        assert not facts
        self.ready = self.unacked = self.consumers_full = 0
        self.totals = dict.fromkeys(COUNTED, 0)
        self.peak = self.now = 0
        # Seconds at which ready messages came, the head first, and how many.
        self.arrivals: deque[list[int]] = deque()

    def count(self, what: str, messages: int) -> None:
        self.totals[what] += messages

    def publish(self, messages: int) -> None:
        self.count("publish", messages)
        self.ready += messages
        self.arrivals.append([self.now, messages])
        over = 0 if self.length_max is None else max(0, self.ready - self.length_max)
        self.count("dropped", over)
        self.remove(over)
        self.peak = max(self.peak, self.ready)

    def deliver(self, messages: int, *, again: bool = False) -> int:
        messages = min(messages, self.ready)
        self.count("deliver", messages)
        self.count("redeliver", messages * again)
        self.remove(messages)
        self.unacked += messages
        return messages

    def settle(self, messages: int, how: str = "ack") -> None:
        messages = min(messages, self.unacked)
        self.count(how, messages)
        self.unacked -= messages
        if how == "requeue":
            self.ready += messages
            self.arrivals.appendleft([self.now, messages])

    def expire(self, messages: int) -> None:
        self.count("expired", messages)
        self.remove(messages)

    def remove(self, messages: int) -> None:
        """Remove messages from the head."""
        self.ready -= messages
        while messages:
            gone = min(messages, self.arrivals[0][1])
            self.arrivals[0][1] -= gone
            messages -= gone
            if not self.arrivals[0][1]:
                self.arrivals.popleft()

    @property
    def head_age_s(self) -> int | None:
        return next((self.now - second for second, messages in self.arrivals if messages), None)

    def consume(self, messages: int) -> None:
        self.settle(self.deliver(messages))

    def row(self) -> Row:
        octets = self.size * (self.ready + self.unacked)
        return {
            "vhost": self.vhost,
            "queue": self.name,
            "queue_id": self.born + 1,
            "type": "classic",
            "durable": True,
            "ready": self.ready,
            "unacked": self.unacked,
            "consumers": self.consumers,
            **{f"{name}_total": n for name, n in self.totals.items()},
            "bytes": octets,
            "mem": octets,
            "paged_out": 0,
            "consumers_full": self.consumers_full,
            "head_age_ms": None if self.head_age_s is None else 1_000 * self.head_age_s,
            "length_max": self.length_max,
            "octets_max": self.octets_max,
            "state": "running",
        }


# -- what each queue does, second by second ---------------------------------------------------------------------------


def steady(rate: int) -> Callable[[Queue, int], None]:
    """As much leaves as comes, with a few that wait at times."""

    def step(queue: Queue, second: int) -> None:
        queue.publish(rate)
        queue.consume(rate - 1 if second % 60 < 30 else rate + 1)

    return step


def linear(queue: Queue, second: int) -> None:
    """Idle; for the last ten minutes 60 more a second than before, 20 of which are consumed: 216,000 an hour."""
    if second > SECONDS - 600:
        queue.publish(80)
        queue.consume(20)


def octets(queue: Queue, second: int) -> None:
    """From the second half hour of the second hour on 10 a second of 1,000 octets; nothing else limits it."""
    if second > 5_400:
        queue.publish(10)


def overflow(queue: Queue, second: int) -> None:
    """Nobody consumes 5 a second; the limit is reached, and the oldest are dropped."""
    if second > 5_400:
        queue.publish(5)


def one_second(queue: Queue, second: int) -> None:
    queue.publish(555 if second == queue.born else 0)


def abandoned(queue: Queue, second: int) -> None:
    queue.publish(1 if second <= queue.born + 500 else 0)


def rejecting(queue: Queue, second: int) -> None:
    if 4_800 < second <= 4_800 + 1_999 // 10 + 1:
        queue.publish(min(10, 1_999 - queue.totals["publish"]))
        queue.settle(queue.deliver(10), "rejected")


def expiring(queue: Queue, second: int) -> None:
    """Ten a second come, and expire a second later; nobody is there, and nobody is needed."""
    waiting = queue.ready
    queue.publish(10)
    queue.expire(waiting)


def stuck(queue: Queue, second: int) -> None:
    """A consumer with a prefetch of 100 fills it, and does nothing for six minutes; then it goes on."""
    if second == 6_001:
        queue.publish(150)
        queue.deliver(100)
        queue.consumers_full = 1
    elif second == 6_001 + 360:
        queue.settle(100)
        queue.consume(50)
        queue.consumers_full = 0


def storm(queue: Queue, second: int) -> None:
    if second == 2_400:
        queue.publish(10)
    elif 2_400 < second <= 2_700:
        queue.settle(queue.deliver(10, again=second > 2_401), "requeue" if second < 2_700 else "ack")


def burst(queue: Queue, second: int) -> None:
    """Grows by 600 messages of a MiB in the ten minutes before the memory alarm, and is emptied after it."""
    if 600 < second <= 1_200:
        queue.publish(1)
    elif second == 1_500:
        queue.consume(queue.ready)


def long_jobs(queue: Queue, second: int) -> None:
    """Each takes four minutes, and the next comes in time: nobody waits, and nothing is wrong."""
    if second % 240 == 1:
        queue.settle(1)
        queue.publish(1)
        queue.deliver(1)
        queue.consumers_full = 1


def faulty() -> dict[str, list[Queue]]:
    """Return the queues of the story, by node."""
    one = [
        Queue("linear", linear, length_max=63_360),
        Queue("octets", octets, octets_max=100_000_000, size=1_000),
        Queue("overflow", overflow, consumers=0, length_max=1_000),
        Queue("one-second", one_second, consumers=0, born=4_003, died=4_004),
        Queue("deleted", abandoned, consumers=0, died=2_000),
        Queue("vanished", abandoned, consumers=0, died=2_000, is_told=False),
        Queue("rejecting", rejecting),
        Queue("expiring", expiring, consumers=0),
        Queue("stuck", stuck),
        Queue("storm", storm),
        Queue("burst", burst, size=MIB, consumers=2),
    ]
    return {
        ONE: [*one, *normal()],
        TWO: [Queue("linear", steady(7)), Queue("overflow", steady(3)), *normal()],
        BACK: [Queue("back", steady(5)), Queue("back-grows", lambda queue, _: queue.publish(2))],
    }


def normal() -> list[Queue]:
    return [*(Queue(f"q{n}", steady(5 + n)) for n in range(4)), Queue("jobs", long_jobs)]
