"""Telemetry of three nodes with faults planted in it, and a log of truth that is kept apart from the rows.

The queues of `planted_queues.py` are stepped second by second; a sampler looks at them every twenty seconds and writes
a row if something changed, and of everything every five minutes, as the node does. The truth is in their counts, never
in the samples. Two hours of faults (START) are followed by two clean hours on the next day (CLEAN); nothing is random.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.spark.pipeline.planted_queues import BACK, MIB, ONE, SECONDS, TWO, Queue, Row, faulty, normal

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
CLEAN = START + timedelta(days=1)
END = START + timedelta(seconds=SECONDS)
INTERVAL_S, FULL_S = 20, 300
# The clock of BACK is set back by an hour at this second.
BACK_AT, BACK_BY_S = 5_400, 3_600
MEMORY_LIMIT, DISK_LIMIT = 960 * MIB, 50_000_000


def at(second: float, start: datetime = START) -> str:
    """Return a second of the story as reports have it."""
    return (start + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S")


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
