"""A day of telemetry as a daemon would write it, with incidents in known places and of known size; nothing is random.

Of `intervals` samples of `queues` queues:
- at a quarter memory is short: 20 parts of 1,440 long; before, the queue `burst` grew by 600 MiB; `shop-7` is held;
- at three eighths 3,000 messages to exchange `orders` with key `new.eu` go nowhere, 5 are returned, 42 expire in q001;
- at half the node restarts: totals begin anew; a disk alarm of two intervals before goes with it, and holds `shop-9`;
- `shop-3` is in flow for ten intervals behind that;
- from three quarters on the queue `growing` takes in 30 messages an interval and only 10 are acknowledged.

Three lines of the first hour are none, one file is there twice, and the last hour of queue_sample is still written to.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MIB = 1 << 20
START = datetime(2026, 1, 5, tzinfo=UTC)
NODE = "pybroker@day"
EPOCHS = (1_767_571_200, 1_767_614_400)
BAD_LINES = [
    '{"v":1,"ts":1767571200000,"node":"pybr',
    '{"v":2,"ts":1767571200000,"node":"pybroker@day"}',
    "no JSON at all",
]
CONNECTIONS = {3: "shop-3", 7: "shop-7", 9: "shop-9"}


class Day:
    """Files written to `folder`, and the rows that have to be found in them."""

    def __init__(self, folder: Path, queues: int, interval_s: int, intervals: int) -> None:
        self.folder = folder
        self.queues = queues
        self.interval_ms = interval_s * 1000
        self.intervals = intervals
        self.alarm_at, self.lost_at, self.restart_at = intervals // 4, 3 * intervals // 8, intervals // 2
        self.grows_at = 3 * intervals // 4
        self.alarm_intervals = max(2, intervals * 20 // 1_440)
        self.start_ms = int(START.timestamp() * 1000)
        self.until = START + timedelta(milliseconds=self.interval_ms * intervals)
        self.rows = 0

    def ms(self, interval: int) -> int:
        return self.start_ms + interval * self.interval_ms

    def at(self, interval: int, more_ms: int = 0) -> str:
        return datetime.fromtimestamp((self.ms(interval) + more_ms) / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")

    def epoch(self, interval: int) -> int:
        return EPOCHS[interval >= self.restart_at]

    def since_boot(self, interval: int) -> int:
        """Return how many intervals the node has run for."""
        return interval + 1 - (self.restart_at if interval >= self.restart_at else 0)

    def write(self) -> "Day":
        """Write everything, hour by hour."""
        per_hour = 3_600_000 // self.interval_ms
        for first in range(0, self.intervals, per_hour):
            hour = range(first, min(first + per_hour, self.intervals))
            last = hour.stop == self.intervals
            self._file(
                "queue_sample", hour, self.queue_lines(hour), still_open=last, bad=BAD_LINES if not first else ()
            )
            self._file("node_sample", hour, map(json.dumps, self.nodes(hour)))
            self._file("connection_sample", hour, map(json.dumps, self.connections(hour)))
            for table, events in (
                ("alarm_event", self.alarms()),
                ("block_event", self.blocks()),
                ("trace_event", self.losses()),
            ):
                found = [e for e in events if self.ms(hour.start) <= e["ts"] < self.ms(hour.stop)]
                if found:
                    self._file(table, hour, map(json.dumps, found))
        again = min((self.folder / "node_sample").iterdir())
        again.with_name(again.name.replace(".0001.", ".0002.")).write_bytes(again.read_bytes())
        return self

    def _file(self, table: str, hour: range, lines: Any, *, still_open: bool = False, bad: Any = ()) -> None:
        name = datetime.fromtimestamp(self.ms(hour.start) / 1000, UTC).strftime("%Y%m%dT%H.0001.ndjson")
        (self.folder / table).mkdir(parents=True, exist_ok=True)
        with (self.folder / table / (name + ".open" * still_open)).open("w") as file:
            for line in lines:
                file.write(f"{line}\n")
                self.rows += 1
            file.writelines(f"{line}\n" for line in bad)
            if still_open:
                file.write('{"v":1,"ts":17675712')

    def queue_lines(self, hour: range) -> Iterator[str]:
        tail = '"expired_total":0,"dropped_total":0,"mem":9000,"paged_out":0,"octets_max":null,"state":"running"'
        for i in hour:
            n = self.since_boot(i)
            first = ',"first":true' if n == 1 else ""
            base = (self.restart_at <= i) * 1_000
            head = f'{{"v":1,"ts":{self.ms(i)},"node":"{NODE}","epoch":{self.epoch(i)},'
            head += '"vhost":"/","type":"classic","durable":true,'
            for q in range(self.queues):
                rate = 10 + q % 7
                yield (
                    f'{head}"queue":"q{q:03d}","queue_id":{base + q},"ready":{q % 5},"unacked":1,"consumers":1,'
                    f'"publish_total":{rate * n},"deliver_total":{rate * n},"ack_total":{rate * n},"redeliver_total":0,'
                    f'"bytes":{q % 5 * 100},"length_max":null,{tail}{first}}}'
                )
            grown = max(0, i - self.grows_at + 1)
            taken = 10 * n + 20 * grown
            yield (
                f'{head}"queue":"growing","queue_id":{base + 900},"ready":{20 * grown},"unacked":0,"consumers":2,'
                f'"publish_total":{taken},"deliver_total":{10 * n},"ack_total":{10 * n},"redeliver_total":0,'
                f'"bytes":{2_000 * grown},"length_max":1000000,{tail}{first}}}'
            )
            octets = self.burst_octets(i)
            yield (
                f'{head}"queue":"burst","queue_id":{base + 901},"ready":{octets // MIB},"unacked":0,"consumers":1,'
                f'"publish_total":{n},"deliver_total":{n},"ack_total":{n},"redeliver_total":0,'
                f'"bytes":{octets},"length_max":null,{tail}{first}}}'
            )

    def burst_octets(self, i: int) -> int:
        """Return what is in `burst`: it fills in the ten minutes before the alarm, and is empty behind it."""
        begin = self.ms(self.alarm_at) - 600_000
        if begin < self.ms(i) <= self.ms(self.alarm_at + self.alarm_intervals):
            return min(600, (self.ms(i) - begin) // 1_000) * MIB
        return 0

    def memory(self, i: int) -> int:
        return 400 * MIB + self.burst_octets(i) + (50 * MIB if i == self.alarm_at + 1 else 0)

    def disk_free(self, i: int) -> int:
        return 40_000_000 if self.restart_at - 2 <= i < self.restart_at else 5_000_000_000

    def nodes(self, hour: range) -> Iterator[dict[str, Any]]:
        for i in hour:
            n = self.since_boot(i)
            row = {"v": 1, "ts": self.ms(i), "node": NODE, "epoch": self.epoch(i)}
            row |= {
                "mem_used": self.memory(i),
                "mem_rss": self.memory(i),
                "mem_limit": 960 * MIB,
                "mem_total": 2400 * MIB,
            }
            row |= {"watermark": 0.4, "paging_ratio": 0.5, "disk_free": self.disk_free(i), "disk_limit": 50_000_000}
            row |= {
                "fds": 50,
                "loop_lag_ms": 1,
                "connections": 10,
                "queues": self.queues + 2,
                "publish_total": 1_000 * n,
            }
            row |= {"returned_total": 0, "unroutable_total": 0, "telemetry_dropped_total": 0}
            yield row | ({"first": True} if n == 1 else {})

    def connection_id(self, number: int, i: int) -> str:
        return f"<{NODE}.{self.epoch(i)}.{number}.0>"

    def connections(self, hour: range) -> Iterator[dict[str, Any]]:
        for i in hour:
            n = self.since_boot(i)
            boot = i + 1 - n
            for number in range(10):
                row = {"v": 1, "ts": self.ms(i), "node": NODE, "epoch": self.epoch(i)}
                row |= {"conn_id": self.connection_id(number, i), "user": "shop" if number in CONNECTIONS else "other"}
                row |= {"vhost": "/", "peer": f"10.0.0.{number}:4000", "client_name": CONNECTIONS.get(number, "worker")}
                row |= {"connected_ms": self.ms(boot), "channels": 1, "recv_oct": 1_000 * n, "send_oct": 500 * n}
                in_flow = self.in_flow(i) if number == 3 else 0
                row |= {
                    "state": "running",
                    "blocked_ms_total": self.blocked_ms(number, i),
                    "flow_ms_total": in_flow * 1_000,
                }
                row |= {"flow_count": in_flow, "last_blocked_by": "flow" if in_flow else "none"}
                row |= {"last_blocked_cause": "journal" if in_flow else ""}
                yield row | ({"first": True} if n == 1 else {})

    def in_flow(self, i: int) -> int:
        return min(10, max(0, i - self.restart_at))

    def blocked_ms(self, number: int, i: int) -> int:
        if number == 7 and self.alarm_at + self.alarm_intervals <= i < self.restart_at:
            return self.held_ms
        return 0

    @property
    def held_ms(self) -> int:
        """Return for how long `shop-7` is held."""
        return self.alarm_intervals * self.interval_ms - 120

    def _event(self, i: int, **facts: Any) -> dict[str, Any]:
        return {"v": 1, "ts": self.ms(i), "node": NODE, "epoch": self.epoch(i), **facts}

    def alarms(self) -> list[dict[str, Any]]:
        memory = {"resource": "memory", "alarm_node": NODE, "limit": 960 * MIB, "why": "short"}
        disk = {"resource": "disk", "alarm_node": NODE, "limit": 50_000_000, "why": "short"}
        return [
            self._event(self.alarm_at, **memory, action="set", used=self.memory(self.alarm_at)),
            self._event(self.alarm_at + self.alarm_intervals, **memory, action="clear", used=400 * MIB),
            self._event(self.restart_at - 2, **disk, action="set", used=40_000_000),
        ]

    def blocks(self) -> list[dict[str, Any]]:
        a, r = self.alarm_at, self.restart_at
        shop7 = {"conn_id": self.connection_id(7, a), "user": "shop", "vhost": "/", "client_name": "shop-7"}
        shop9 = {"conn_id": self.connection_id(9, a), "user": "shop", "vhost": "/", "client_name": "shop-9"}
        one = {**shop7, "reason": "memory", "began_ms": self.ms(a) + 120}
        return [
            self._event(a, **one, action="begin", duration_ms=None),
            self._event(a + self.alarm_intervals, **one, action="end", duration_ms=self.held_ms),
            self._event(r - 2, **shop9, reason="disk", began_ms=self.ms(r - 2), action="begin", duration_ms=None),
        ]

    def losses(self) -> list[dict[str, Any]]:
        way = {"reason": "NO_ROUTE", "vhost": "/", "queue": "", "has_ae": False}
        found = []
        for k in range(3):
            orders = {"exchange": "orders", "routing_key": "new.eu", "returned": False, "count": 1_000, "size": 64_000}
            found.append(self._event(self.lost_at + k, kind="unroutable", **way, **orders))
        missing = {"exchange": "", "routing_key": "missing", "returned": True, "count": 5, "size": 50}
        found.append(self._event(self.lost_at, kind="unroutable", **way, **missing))
        old = {"vhost": "/", "exchange": "", "routing_key": "q001", "queue": "q001", "returned": False, "has_ae": False}
        return [*found, self._event(self.lost_at, kind="dead_letter", reason="expired", **old, count=42, size=420)]
