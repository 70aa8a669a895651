"""Telemetry of three nodes with faults planted in it, and a log of truth that is kept apart from the rows.

A model of queues is stepped second by second; a sampler looks at it every twenty seconds and writes a row if something
changed, and of everything every five minutes, as the node does. The truth is in the model's counts, never in the
samples. Two hours of faults (START) are followed by two clean hours on the next day (CLEAN); nothing is random.
"""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MIB = 1 << 20
START = datetime(2026, 1, 5, 10, tzinfo=UTC)
CLEAN = START + timedelta(days=1)
SECONDS = 7_200
END = START + timedelta(seconds=SECONDS)
ONE, TWO, BACK = "pybroker@one", "pybroker@two", "pybroker@back"
INTERVAL_S, FULL_S = 20, 300
# The clock of BACK is set back by an hour at this second.
BACK_AT, BACK_BY_S = 5_400, 3_600
MEMORY_LIMIT, DISK_LIMIT = 960 * MIB, 50_000_000

COUNTED = ("publish", "deliver", "ack", "redeliver", "expired", "dropped", "rejected", "requeue", "purged")
Row = dict[str, Any]


def at(second: float, start: datetime = START) -> str:
    """Return a second of the story as reports have it."""
    return (start + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S")


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


# -- what each queue does, second by second ----------------------------------------------------------------------


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


# -- what else there is ----------------------------------------------------------------------


class Node:
    """A node: its queues, connections and events, and the files that it writes."""

    def __init__(self, name: str, queues: list[Queue], start: datetime, *, faults: bool) -> None:
        self.name, self.queues, self.start, self.faults = name, queues, start, faults
        self.epoch = int(start.timestamp())
        self.published = self.unroutable = 0
        self.flow_ms = self.blocked_ms = self.rows_written = 0
        self.lines: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._known: dict[Any, Any] = {}
        self._memory_was = 0

    def memory(self, second: int) -> int:
        """Return the octets in use: a level that the queue of the alarm adds to."""
        return 400 * MIB + sum(q.size * q.ready for q in self.queues if q.name == "burst")

    def disk_free(self, second: int) -> int:
        return 40_000_000 if self.faults and self.name == ONE and 3_000 <= second < 3_120 else 5_000_000_000

    def is_scant(self, second: int) -> bool:
        """Tell whether the node samples queues and connections less often, for want of disk space."""
        return self.disk_free(second) < DISK_LIMIT * 1.5

    def clock_ms(self, second: int) -> int:
        back = BACK_BY_S if self.faults and self.name == BACK and second >= BACK_AT else 0
        return (self.epoch + second - back) * 1_000

    def write(self, table: str, second: int, row: Row) -> None:
        ms = self.clock_ms(second)
        head = {"v": 1, "ts": ms, "node": self.name, "epoch": self.epoch, "seq": self.rows_written}
        hour = datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y%m%dT%H")
        # After the clock was set back there is a second file of an hour.
        number = 2 if ms < (self.epoch + second) * 1_000 else 1
        self.lines[table, f"{hour}.{number:04d}.{self.name[9:]}"].append(json.dumps(head | row))
        self.rows_written += 1

    def run(self) -> "Node":
        for second in range(SECONDS + 1):
            self._step(second)
            self._events(second)
            if second % INTERVAL_S == 0 and second:
                self._sample(second, full=second % FULL_S == 0 or second == INTERVAL_S)
        return self

    def _step(self, second: int) -> None:
        for queue in self.queues:
            if queue.born <= second < queue.died:
                before, queue.now = queue.totals["publish"], second
                queue.step(queue, second)
                self.published += queue.totals["publish"] - before
            elif second == queue.died and queue.is_told:
                gone = {"ready": 0, "unacked": 0, "consumers": 0, "bytes": 0, "mem": 0, "consumers_full": 0}
                gone |= {"deleted_ms": self.clock_ms(second), "discarded": queue.ready + queue.unacked}
                self.write("queue_sample", second, queue.row() | gone | self._first(queue.name, None))
        if self.faults and self.name == ONE:
            self.unroutable += 1_399 if second in {1_800, 1_801} else 0
            self.flow_ms += 500 if 3_600 < second <= 3_660 else 0
            self.blocked_ms += 1_000 if 1_200 < second <= 1_500 else 0

    def _first(self, name: str, row: Any) -> Row:
        first = {} if name in self._known else {"first": True}
        self._known[name] = row
        return first

    def _sample(self, second: int, *, full: bool) -> None:
        for queue in self.queues:
            if queue.born <= second < queue.died:
                row = queue.row()
                # The age of a message that waits is no change.
                changed = self._known.get(queue.name) != row | {"head_age_ms": None}
                if full or (changed and not self.is_scant(second)):
                    self.write("queue_sample", second, row | self._first(queue.name, row | {"head_age_ms": None}))
        node = {"mem_used": self.memory(second), "mem_rss": self.memory(second), "mem_limit": MEMORY_LIMIT}
        node |= {"mem_total": 2_400 * MIB, "watermark": 0.4, "paging_ratio": 0.5}
        node |= {"disk_free": self.disk_free(second), "disk_limit": DISK_LIMIT, "fds": 50, "loop_lag_ms": 1}
        node |= {"connections": 3, "queues": len(self.queues), "publish_total": self.published, "returned_total": 0}
        node |= {
            "unroutable_total": self.unroutable,
            "telemetry_dropped_total": 0,
            "cpu_ms_total": second * 100,
            "up_ms": second * 1_000,
            "interval_ms": INTERVAL_S * 1_000,
        }
        self.write("node_sample", second, node | self._first("", node))
        for number, user in ((1, "shop"), (2, "shop"), (3, "billing")):
            if self.is_scant(second) and not full:
                continue
            row = self._connection(number, user, second)
            self.write("connection_sample", second, row | self._first(f"connection {number}", None))
        if self.faults and self.name == ONE and second in {1_800, 1_820}:
            way = {"kind": "unroutable", "reason": "NO_ROUTE", "vhost": "/", "exchange": "orders", "queue": ""}
            way |= {"routing_key": "new.eu", "returned": False, "has_ae": False}
            self.write("trace_event", second, way | {"count": 1_399, "size": 1_399 * 64})
        for queue in self.queues:
            self._losses(queue, second)

    def _losses(self, queue: Queue, second: int) -> None:
        """Write what the queue lost since the sample before, by reason."""
        for what, kind in (("rejected", "rejected"), ("expired", "expired"), ("dropped", "maxlen")):
            before = self._known.get((queue.name, what), 0)
            messages = queue.totals[what] - before
            self._known[queue.name, what] = queue.totals[what]
            if messages:
                way = {"kind": kind, "reason": kind, "vhost": queue.vhost, "exchange": "", "queue": queue.name}
                way |= {"routing_key": queue.name, "returned": False, "has_ae": False}
                self.write("trace_event", second, way | {"count": messages, "size": messages * queue.size})

    def connection_id(self, number: int) -> str:
        return f"<{self.name}.{self.epoch}.{number}.0>"

    def _connection(self, number: int, user: str, second: int) -> Row:
        row = {"conn_id": self.connection_id(number), "user": user, "vhost": "/", "peer": f"10.0.0.{number}:4000"}
        row |= {"client_name": f"{user}-{number}", "connected_ms": self.epoch * 1_000, "channels": 1}
        row |= {"recv_oct": 1_000 * number * second, "send_oct": 500 * number * second, "state": "running"}
        row |= {"publish_total": 10 * number * second, "deliver_total": 5 * number * second}
        flow, blocked = (self.flow_ms, self.blocked_ms) if number == 1 else (0, 0)
        row |= {"blocked_ms_total": blocked, "flow_ms_total": flow, "flow_count": flow // 500}
        by = "flow" if flow else "resource" if blocked else "none"
        return row | {"last_blocked_by": by, "last_blocked_cause": "journal" if flow else "memory" if blocked else ""}

    def _events(self, second: int) -> None:
        if not (self.faults and self.name == ONE):
            return
        for resource, begin, end, used, limit in (
            ("memory", 1_200, 1_500, 1_000 * MIB, MEMORY_LIMIT),
            ("disk", 3_000, 3_120, 40_000_000, DISK_LIMIT),
        ):
            if second in {begin, end}:
                action = "set" if second == begin else "clear"
                row = {"resource": resource, "alarm_node": self.name, "action": action, "limit": limit, "why": "short"}
                self.write("alarm_event", second, row | {"used": used if second == begin else 400 * MIB})
        if second in {3_000, 3_120}:
            for table in ("queue_sample", "connection_sample"):
                ended = None if second == 3_000 else self.clock_ms(3_120)
                gap = {"table": table, "from_ms": self.clock_ms(3_000), "to_ms": ended, "why": "disk", "rows": None}
                self.write("gap", second, gap)
        if second in {1_200, 1_500}:
            row = {"conn_id": self.connection_id(1), "user": "shop", "vhost": "/", "client_name": "shop-1"}
            row |= {"reason": "memory", "action": "begin" if second == 1_200 else "end"}
            row |= {"began_ms": self.clock_ms(1_200), "duration_ms": None if second == 1_200 else 300_000}
            self.write("block_event", second, row)


class Planted:
    """Files written to `folder`; `nodes` and `clean` are the log of truth."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = {name: Node(name, queues, START, faults=True).run() for name, queues in faulty().items()}
        self.clean = {name: Node(name, normal(), CLEAN, faults=False).run() for name in (ONE, TWO)}
        for node in (*self.nodes.values(), *self.clean.values()):
            for (table, stem), lines in node.lines.items():
                (folder / table).mkdir(parents=True, exist_ok=True)
                hour, number, name = stem.split(".")
                # Two nodes' files in one folder: numbers keep them apart.
                apart = int(number) + 10 * [ONE, TWO, BACK].index(f"pybroker@{name}")
                text = "".join(f"{line}\n" for line in lines)
                (folder / table / f"{hour}.{apart:04d}.ndjson").write_text(text)

    def queue(self, name: str, node: str = ONE) -> Queue:
        return next(queue for queue in self.nodes[node].queues if queue.name == name)

    def queues(self) -> Iterator[tuple[str, Queue]]:
        return ((name, queue) for name, node in self.nodes.items() for queue in node.queues)
