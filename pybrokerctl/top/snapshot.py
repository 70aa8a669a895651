"""Figures of the node at one moment, and rates per second between two of them."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from pybrokerctl.client import Connection

QUEUE_COLUMNS: Final = (
    *("vhost", "name", "messages_ready", "messages_unacknowledged", "consumers", "message_bytes"),
    *("publish", "deliver", "ack", "redeliver"),
    *("head_age_ms", "in_rate_1m", "out_rate_1m"),
)
CONNECTION_COLUMNS: Final = (
    *("pid", "name", "user_provided_name", "user", "vhost", "state", "last_blocked_cause", "channels", "send_pend"),
    *("recv_oct", "send_oct"),
)
# States in which the last cause is that of now.
HELD: Final = frozenset({"flow", "blocked"})
# From this column on they are counters, of which the difference is of interest; a queue has more figures behind them.
QUEUE_COUNTERS: Final = 6
QUEUE_COUNTERS_END: Final = 10
CONNECTION_COUNTERS: Final = 9


class Queue(NamedTuple):
    """A queue: its contents, and its rates per second; None if there is nothing to compare with yet.

    `in_rate` and `out_rate` are the node's own figures, over a minute; like the age of the head they may be unknown.
    """

    vhost: str
    name: str
    ready: int
    unacked: int
    consumers: int
    octets: int
    publish: float | None
    deliver: float | None
    ack: float | None
    redeliver: float | None
    head_age_ms: int | None = None
    in_rate: float | None = None
    out_rate: float | None = None


class Client(NamedTuple):
    """A connection: its identity, and its octets per second; None if there is nothing to compare with yet."""

    pid: str
    peers: str
    given_name: str
    user: str
    vhost: str
    state: str
    last_cause: str
    channels: int
    pending: int
    received: float | None
    sent: float | None

    @property
    def name(self) -> str:
        """Return what its client calls it, else the two addresses."""
        return self.given_name or self.peers

    @property
    def held_by(self) -> str:
        """Return what holds it back, or did until a moment ago; nothing while it is read."""
        return self.last_cause if self.state in HELD else ""


class Snapshot(NamedTuple):
    """Counters as they were read, `at_s` on the monotonic clock; rows of the columns above."""

    at_s: float
    status: Mapping[str, Any]
    queues: list[list[Any]]
    connections: list[list[Any]]


def fetch(connection: "Connection", args: Mapping[str, Any]) -> Snapshot:
    """Ask the node for everything; `args` choose its queues. Raises Refused, TimedOut, Gone."""
    status = connection.ask("status", {})[1]
    queues = _rows(connection, "top", {**args, "columns": QUEUE_COLUMNS})
    at_s = time.monotonic()
    return Snapshot(at_s, status, queues, _rows(connection, "list_connections", {"columns": CONNECTION_COLUMNS}))


def queues_between(before: Snapshot | None, after: Snapshot) -> list[Queue]:
    """Return the queues of `after` with what they did per second since `before`."""
    earlier = {(row[0], row[1]): row for row in before.queues} if before else {}
    seconds = after.at_s - before.at_s if before else 0.0
    return [
        Queue(
            *row[:QUEUE_COUNTERS],
            *_rates(earlier.get((row[0], row[1])), row[:QUEUE_COUNTERS_END], QUEUE_COUNTERS, seconds),
            *[None if figure == "" else figure for figure in row[QUEUE_COUNTERS_END:]],
        )
        for row in after.queues
    ]


def clients_between(before: Snapshot | None, after: Snapshot) -> list[Client]:
    """Return the connections of `after` with what they did per second since `before`."""
    earlier = {row[0]: row for row in before.connections} if before else {}
    seconds = after.at_s - before.at_s if before else 0.0
    return [
        Client(*row[:CONNECTION_COUNTERS], *_rates(earlier.get(row[0]), row, CONNECTION_COUNTERS, seconds))
        for row in after.connections
    ]


def total(rows: Iterable[Any], read: Callable[[Any], float | None]) -> float | None:
    """Return a rate of all rows together; None when there are some, and it is known of none of them."""
    rates = [*map(read, rows)]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known or not rates else None


def _rates(before: list[Any] | None, after: list[Any], first: int, seconds: float) -> list[float | None]:
    """Return per second what counters from index `first` on have grown."""
    if before is None or seconds <= 0:
        return [None] * (len(after) - first)
    # A queue that was deleted and declared anew counts from 0 again.
    stop = len(after)
    return [max(0, new - old) / seconds for old, new in zip(before[first:stop], after[first:], strict=True)]


def _rows(connection: "Connection", command: str, args: Mapping[str, Any]) -> list[list[Any]]:
    _, batches = connection.ask(command, args)
    return [row for batch in batches for row in batch]
