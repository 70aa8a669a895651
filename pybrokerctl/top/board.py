"""The part of a list on screen: queues or connections, sorted, filtered, from some row on. Pure: keys in, rows out."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from pybrokerctl.top.snapshot import Client, Queue, Snapshot, clients_between, queues_between

INTERVAL_S_MIN: Final = 0.25
INTERVAL_S_MAX: Final = 60.0


class Column(NamedTuple):
    """A column: its title, how to read and write it, and from which width of the terminal on it is shown."""

    title: str
    read: Callable[[Any], Any]
    write: Callable[[Any], str]
    columns_min: int = 0
    numeric: bool = True


class Pane(NamedTuple):
    """One of the two lists. `sort` is the index of the column by which it is sorted at first."""

    name: str
    columns: tuple[Column, ...]
    sort: int


def count(value: float | None) -> str:
    """Return a number with its thousands apart; nothing for what is not known."""
    return "" if value is None else f"{value:,.0f}"


def rate(value: float | None) -> str:
    """Return a rate per second, slow ones with a digit behind the point."""
    if value is None:
        return ""
    return f"{value:.1f}" if 0 < value < 10 else f"{value:,.0f}"


def age(ms: float | None) -> str:
    """Return how long something has waited, in its largest unit: `9s`, `12m`, `3h`, `4d`."""
    if ms is None:
        return ""
    seconds = int(ms // 1000)
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def octets(value: float | None) -> str:
    """Return octets in the unit that leaves up to four digits, as `df -H` has them."""
    if value is None:
        return ""
    size = float(value)
    for unit in ("", "k", "M", "G", "T"):
        if size < 1000 or unit == "T":
            break
        size /= 1000
    return f"{size:.0f}{unit}" if not unit or size >= 100 else f"{size:.1f}{unit}"


QUEUES: Final = Pane(
    "queues",
    (
        Column("vhost", lambda q: q.vhost, str, 100, numeric=False),
        Column("queue", lambda q: q.name, str, numeric=False),
        Column("ready", lambda q: q.ready, count),
        Column("unacked", lambda q: q.unacked, count),
        Column("bytes", lambda q: q.octets, octets, 90),
        Column("consumers", lambda q: q.consumers, count),
        Column("publish/s", lambda q: q.publish, rate),
        Column("deliver/s", lambda q: q.deliver, rate),
        Column("ack/s", lambda q: q.ack, rate),
        Column("redeliver/s", lambda q: q.redeliver, rate, 110),
        Column("head age", lambda q: q.head_age_ms, age, 120),
        Column("in/s 1m", lambda q: q.in_rate, rate, 140),
        Column("out/s 1m", lambda q: q.out_rate, rate, 140),
    ),
    sort=2,
)
CONNECTIONS: Final = Pane(
    "connections",
    (
        Column("id", lambda c: c.pid, str, 130, numeric=False),
        Column("connection", lambda c: c.name, str, numeric=False),
        Column("from", lambda c: c.peers.partition(" -> ")[0], str, 100, numeric=False),
        Column("user", lambda c: c.user, str, numeric=False),
        Column("vhost", lambda c: c.vhost, str, 100, numeric=False),
        Column("state", lambda c: c.state, str, numeric=False),
        Column("held by", lambda c: c.held_by, str, 120, numeric=False),
        Column("channels", lambda c: c.channels, count, 90),
        Column("in B/s", lambda c: c.received, octets),
        Column("out B/s", lambda c: c.sent, octets),
        Column("unsent B", lambda c: c.pending, octets, 110),
    ),
    sort=8,
)
PANES: Final = (QUEUES, CONNECTIONS)


class Board:
    """`note` is what went wrong at the last look; `typing` tells whether keys go to the filter."""

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s
        self.paused = False
        self.helping = False
        self.typing = False
        self.filter = ""
        self.offset = 0
        self.note = ""
        self.latest: Snapshot | None = None
        self.queues: list[Queue] = []
        self.clients: list[Client] = []
        self._pane = 0
        self._sort = [pane.sort for pane in PANES]
        self._falling = [True, True]

    @property
    def pane(self) -> Pane:
        """Return the list that is shown."""
        return PANES[self._pane]

    @property
    def sort(self) -> Column:
        """Return the column by which it is sorted."""
        return self.pane.columns[self._sort[self._pane]]

    @property
    def falling(self) -> bool:
        """Tell whether the largest come first."""
        return self._falling[self._pane]

    def update(self, snapshot: Snapshot) -> None:
        """Take a new snapshot; rates are its difference from the one before."""
        self.note = ""
        if self.paused:
            return
        self.queues = queues_between(self.latest, snapshot)
        self.clients = clients_between(self.latest, snapshot)
        self.latest = snapshot

    def columns(self, width: int) -> tuple[Column, ...]:
        """Return the columns of the list that a terminal of this width has room for."""
        wanted = {self.sort.title}
        if len({queue.vhost for queue in self.queues}) > 1:
            wanted.add("vhost")
        if any(client.held_by for client in self.clients):
            wanted.add("held by")
        return tuple(one for one in self.pane.columns if width >= one.columns_min or one.title in wanted)

    def rows(self) -> list[Any]:
        """Return the rows that the filter lets through, sorted; of equals the names decide."""
        rows: Iterable[Any] = self.queues if self.pane is QUEUES else self.clients
        if self.filter:
            sought = self.filter.lower()
            rows = (row for row in rows if any(sought in one.lower() for one in row if isinstance(one, str)))
        column = self.sort
        found = sorted(rows, key=lambda row: (row.name, row.vhost))
        # None, of what has no rate yet, is the least.
        return sorted(found, key=lambda row: _order(column.read(row)), reverse=self.falling)

    def press(self, key: str, width: int, room: int) -> None:
        """Do what a key means, on a terminal of this width that shows `room` rows."""
        if self.typing:
            self._type(key)
        elif self.helping:
            self.helping = False
        elif key in {"tab", "back tab"}:
            self._pane = 1 - self._pane
            self.offset = 0
        elif key in {"right", "left", ">", "<", "s"}:
            self._sort_by_neighbour(-1 if key in {"left", "<"} else 1, self.columns(width))
        elif key == "r":
            self._falling[self._pane] = not self.falling
        elif key == "/":
            self.typing = True
        elif key == "escape":
            self.filter = ""
        elif key == " ":
            self.paused = not self.paused
        elif key in {"+", "-"}:
            changed = self.interval_s * (2 if key == "+" else 0.5)
            self.interval_s = min(INTERVAL_S_MAX, max(INTERVAL_S_MIN, changed))
        elif key in {"h", "?"}:
            self.helping = True
        else:
            self._move(key, room)

    def _type(self, key: str) -> None:
        if key == "enter":
            self.typing = False
        elif key == "escape":
            self.typing, self.filter = False, ""
        elif key == "backspace":
            self.filter = self.filter[:-1]
        elif len(key) == 1:
            self.filter += key
        self.offset = 0

    def _sort_by_neighbour(self, step: int, shown: Sequence[Column]) -> None:
        column = shown[(shown.index(self.sort) + step) % len(shown)]
        self._sort[self._pane] = self.pane.columns.index(column)
        # Names from A on, numbers from the largest.
        self._falling[self._pane] = column.numeric

    def _move(self, key: str, room: int) -> None:
        most = len(self.rows()) - room
        steps = {"up": -1, "down": 1, "page up": -room, "page down": room, "home": -self.offset, "end": most}
        self.offset = max(0, min(self.offset + steps.get(key, 0), most))


def _order(value: Any) -> tuple[int, Any]:
    if isinstance(value, str):
        return 1, value.lower()
    return (0, 0) if value is None else (1, value)
