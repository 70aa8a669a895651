"""blocked: who was held back, for how long, and why?

Events have the effects of alarms, to the millisecond; the connections' totals have those of flow control. A block that
has no end lasts until its connection was seen last.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns.minutes import MINUTE_S, Minutes, by_thing, foremost as foremost_rows
from pybroker.spark.pipeline.coverage.unknown import at_ms
from pybroker.spark.pipeline.jobs.people import foremost
from pybroker.spark.pipeline.run import milliseconds
from pybroker.spark.pipeline.schemas import ALARM_EVENT, BLOCK_EVENT, CONNECTION_1M, NODE_1M

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pybroker.spark.pipeline.run import Run

WHO: Final = ("user", "client_name", "vhost")
EVENT: Final = (*WHO, "reason", "duration_ms")

Connection = tuple[str, str]
# Facts on connections, by column.
Known = dict[Connection, dict[str, Any]]
PLOTTED: Final = 20
BANDS_MAX: Final = 500

COLUMNS: Final = (
    ("conn_id", "connection"),
    ("user", "user"),
    ("client_name", "connection_name of the client"),
    ("vhost", "virtual host"),
    ("held_ms", "total milliseconds blocked or throttled"),
    ("memory_ms", "of these, because of a memory alarm"),
    ("disk_ms", "of these, because of a disk alarm"),
    ("flow_ms", "because of flow control"),
    ("flow_cause", "last cause of flow control"),
    ("share", "share of the time it was connected"),
    ("blocks", "number of times alarms blocked it"),
    ("longest_ms", "the longest of these"),
    ("first_at", "when the first began"),
    ("last_at", "when the last began"),
    ("node", "node"),
)

# People see the others first.
DETAILS: Final = frozenset({"conn_id", "vhost", "memory_ms", "disk_ms", "flow_ms", "longest_ms", "first_at", "node"})


class Block(NamedTuple):
    """A connection was blocked because of `reason`; times are in milliseconds since 1970."""

    node: str
    conn_id: str
    began_ms: int
    ended_ms: int
    reason: str
    user: str | None
    client_name: str | None
    vhost: str | None

    @property
    def connection(self) -> Connection:
        """Return the key of its connection."""
        return self.node, self.conn_id

    @property
    def lasted_ms(self) -> int:
        """Return for how long it was blocked."""
        return self.ended_ms - self.began_ms


class Held(NamedTuple):
    """A connection that was held back: the fields are COLUMNS."""

    conn_id: str
    user: str | None
    client_name: str | None
    vhost: str | None
    held_ms: int
    memory_ms: int
    disk_ms: int
    flow_ms: int
    flow_cause: str | None
    share: float
    blocks: int
    longest_ms: int
    first_at: datetime | None
    last_at: datetime | None
    node: str


def blocks(
    events: "Iterable[Mapping[str, Any]]", seen: "Callable[[set[Connection]], Known]", until: datetime
) -> list[Block]:
    """Return each block; one without an end lasted until its connection was seen last, else `until`.

    `events` are rows of block_event; `seen` returns what is known of some connections.
    """
    merged: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in events:
        one = merged.setdefault((row["node"], row["conn_id"], row["began_ms"]), dict.fromkeys(EVENT))
        one |= {name: row[name] for name in EVENT if one[name] is None}
    last = seen({key[:2] for key, one in merged.items() if one["duration_ms"] is None})
    found = []
    for (node, conn_id, began_ms), one in merged.items():
        duration_ms = one.pop("duration_ms")
        if duration_ms is None:
            last_us = last.get((node, conn_id), {}).get("seen_us")
            end_ms = milliseconds(until) if last_us is None else last_us // 1_000
            duration_ms = max(0, end_ms - began_ms)
        found.append(Block(node, conn_id, began_ms, began_ms + duration_ms, **one))
    return found


def flows(minutes: Minutes) -> "Known":
    """Return for how long each connection was in flow control, and its last cause, of those that were."""
    found: dict[Connection, dict[str, Any]] = {}
    for rows in minutes:
        is_held = pc.or_kleene(pc.greater(rows["flow_ms"], 0), pc.is_valid(rows["flow_cause"]))
        made = {"flow_ms": ("flow_ms", "sum"), "flow_cause": ("flow_cause", "last")}
        for row in by_thing(rows.filter(is_held), made).to_pylist():
            one = found.setdefault(minutes.things[row["n"]], {"flow_ms": 0, "flow_cause": None})
            one["flow_ms"] += row["flow_ms"] or 0
            one["flow_cause"] = one["flow_cause"] if row["flow_cause"] is None else row["flow_cause"]
    return found


def known(minutes: Minutes) -> "Known":
    """Return who each connection is, when its client connected, and when it was seen last."""
    found: dict[Connection, dict[str, Any]] = {}
    for rows in minutes:
        ends = foremost_rows(rows.select(["n", "at", *WHO]), "at", "max")
        made = {"connected_ms": ("connected_ms", "min"), "seen_us": ("seen_us", "max")}
        seen = rows.append_column("seen_us", rows["last_ts"].cast(pa.int64()))
        times = {row["n"]: row for row in by_thing(seen, made).to_pylist()}
        for row in ends.to_pylist():
            one = found.setdefault(minutes.things[row["n"]], {})
            day = times[row["n"]]
            one |= {name: row[name] for name in WHO}
            one["connected_ms"] = _either(min, one.get("connected_ms"), day["connected_ms"])
            one["seen_us"] = _either(max, one.get("seen_us"), day["seen_us"])
    return found


def _either(how: Any, *values: int | None) -> int | None:
    found: int | None = how((value for value in values if value is not None), default=None)
    return found


def blocked(found: "Iterable[Block]", flow: "Known", known: "Known") -> list[Held]:
    """Return a row for each connection that was held back, the longest first.

    `flow` tells of flow control, `known` of each of these connections.
    """
    by_connection: dict[Connection, list[Block]] = {key: [] for key in flow}
    for block in found:
        by_connection.setdefault(block.connection, []).append(block)
    rows = [
        _held(key, mine, flow.get(key, {"flow_ms": 0, "flow_cause": None}), known.get(key, {}))
        for key, mine in by_connection.items()
    ]
    return sorted((row for row in rows if row.held_ms > 0), key=lambda row: (-row.held_ms, row.node, row.conn_id))


def _held(key: Connection, mine: list[Block], flow: dict[str, Any], known: dict[str, Any]) -> Held:
    held_ms = sum(block.lasted_ms for block in mine) + flow["flow_ms"]
    begins = [block.began_ms for block in mine]
    life_ms = held_ms
    if known.get("seen_us") is not None and known.get("connected_ms") is not None:
        life_ms = max(held_ms, known["seen_us"] // 1_000 - known["connected_ms"])
    told = [known, *({name: getattr(block, name) for name in WHO} for block in mine)]
    user, client_name, vhost = (next((one[name] for one in told if one.get(name) is not None), None) for name in WHO)
    return Held(
        conn_id=key[1],
        user=user,
        client_name=client_name,
        vhost=vhost,
        held_ms=held_ms,
        memory_ms=sum(block.lasted_ms for block in mine if "memory" in (block.reason or "")),
        disk_ms=sum(block.lasted_ms for block in mine if "disk" in (block.reason or "")),
        **flow,
        share=round(held_ms / life_ms, 4) if life_ms else 0.0,
        blocks=len(mine),
        longest_ms=max((block.lasted_ms for block in mine), default=0),
        first_at=at_ms(min(begins)) if begins else None,
        last_at=at_ms(max(begins)) if begins else None,
        node=key[0],
    )


def blocks_of(run: "Run", until: datetime) -> list[Block]:
    """Return the blocks of a run's window."""
    names = ("node", "conn_id", "began_ms", *EVENT)
    events = [row for rows in run.rows(BLOCK_EVENT, names) for row in rows.to_pylist()]
    return blocks(events, lambda asked: _known(run, asked), until)


def _known(run: "Run", asked: "set[Connection]") -> "Known":
    """Return what is known of some connections."""
    if not asked:
        return {}
    ids = pa.array(sorted({conn_id for _, conn_id in asked}))
    names = {*CONNECTION_1M.key, *WHO, "connected_ms", "last_ts"}
    dates = (rows.filter(pc.is_in(rows["conn_id"], value_set=ids)) for rows in run.rows(CONNECTION_1M, names))
    return {key: one for key, one in known(Minutes(CONNECTION_1M.key, dates)).items() if key in asked}


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    found = blocks_of(run, _end(run))
    flow = flows(run.minutes(CONNECTION_1M, ("flow_ms", "flow_cause")))
    rows = blocked(found, flow, _known(run, {*flow, *(block.connection for block in found)}))
    longest = sorted(found, key=lambda block: (-block.lasted_ms, block.connection, block.began_ms))[:BANDS_MAX]
    actions = [action for rows in run.rows(ALARM_EVENT, ("action",)) for action in rows["action"].to_pylist()]
    summary = [
        ("connections held back", len(rows)),
        ("seconds of alarms, over all of them", round(sum(row.held_ms - row.flow_ms for row in rows) / 1000, 1)),
        ("seconds of flow control", round(sum(row.flow_ms for row in rows) / 1000, 1)),
        ("alarms", actions.count("set")),
    ]
    by_user = {row.user or "": 0 for row in rows}
    for row in rows:
        by_user[row.user or ""] += row.held_ms
    worst = sorted(by_user.items(), key=lambda item: (-item[1], item[0]))
    advice = foremost(
        f"connections of user '{user}' were blocked or throttled for {held_ms / 1000:.1f} s in total"
        for user, held_ms in worst
    )
    plots = _plots(rows, longest)
    return run.report("blocked", COLUMNS, rows, details=DETAILS, summary=summary, plots=plots, advice=advice)


def _end(run: "Run") -> datetime:
    """Return when the newest sample of any node was taken: after that nobody knows."""
    last: list[datetime] = [pc.max(rows["ts"]).as_py() for rows in run.rows(NODE_1M, ()) if rows.num_rows]
    return min(run.window.until, max(last) + timedelta(seconds=MINUTE_S)) if last else run.window.until


def _plots(rows: list[Held], longest: list[Block]) -> list[dict[str, Any]]:
    names = {(row.node, row.conn_id): row.client_name or row.conn_id for row in rows[:PLOTTED]}
    if not longest:
        return []
    bars = [
        {"name": name, "bars": [[*each[2:5]] for each in longest if each.connection == key]}
        for key, name in names.items()
    ]
    return [{"kind": "bars", "title": "Connections blocked by alarms", "rows": [row for row in bars if row["bars"]]}]
