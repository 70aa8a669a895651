"""accounting: who uses how much, by virtual host, user and publisher?

Messages and octets are the growth of the connections' totals. Processor time is the node's, shared out minute by minute
in proportion to the messages that connections published and got: an estimate, since no one measures a message. Time of
minutes without a message belongs to nobody.
"""

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns.minutes import MINUTE_S, Minutes, by_thing, sums, together, zero
from pybroker.spark.pipeline.jobs import levels
from pybroker.spark.pipeline.jobs.people import foremost, size
from pybroker.spark.pipeline.schemas import CONNECTION_1M, NODE_1M

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pybroker.spark.pipeline.run import Run

VHOST, USER, PUBLISHER, NODE = "vhost", "user", "publisher", "node"
# The columns of connections with a scope's names, and with each figure.
SCOPES: Final = {VHOST: "vhost", USER: "user", PUBLISHER: "client_name"}
FIGURES: Final = {"published": "publish", "delivered": "deliver", "octets_in": "recv_oct", "octets_out": "send_oct"}
# Everything has a row at least every five minutes.
EVERY_S: Final = 300

COLUMNS: Final = (
    ("scope", "vhost, user, publisher (connection_name of the client), or node for time that belongs to nobody"),
    ("name", "its name"),
    ("connections", "connections that it had"),
    ("published", "messages published"),
    ("delivered", "messages delivered"),
    ("octets_in", "octets received, with framing"),
    ("octets_out", "octets sent, with framing"),
    ("cpu_s", "processor time of the node, by its part of the messages in each minute"),
    ("cpu_share", "the same as a part of all that the node used"),
    ("peak_backlog", "most messages that waited in the queues of a virtual host, to five minutes"),
    ("peak_octets", "octets of bodies in them at most"),
    ("node", "node"),
)


def shares(connections: Minutes, nodes: Minutes) -> list[dict[str, Any]]:
    """Return a row for each virtual host, user and publisher of a node.

    `connections` are connection_1m, `nodes` node_1m.
    """
    used = {
        (nodes.things[n][0], at): cpu_ms
        for rows in nodes
        for n, at, cpu_ms in zip(*(rows[name].to_pylist() for name in ("n", "at", "cpu_ms")), strict=True)
    }
    parts = [_of_connections(rows, [node for node, _ in connections.things], used) for rows in connections]
    if not parts:
        return []
    every = sums(pa.concat_tables(parts), ("n", *SCOPES.values()))
    numbers: dict[str, int] = {}
    of_connections = [numbers.setdefault(node, len(numbers)) for node, _ in connections.things]
    every = every.append_column(NODE, pa.array(of_connections, pa.int64()).take(every["n"]))
    found = []
    for scope, column in SCOPES.items():
        made = every.group_by([NODE, column]).aggregate(
            [("n", "count_distinct"), *((name, "sum") for name in (*FIGURES, "cpu_ms"))]
        )
        for row in made.to_pylist():
            figures = {name: row[f"{name}_sum"] for name in (*FIGURES, "cpu_ms")}
            who = {"node": [*numbers][row[NODE]], "scope": scope, "name": row[column]}
            found.append({**who, "connections": row["n_count_distinct"], **figures})
    return found


def _of_connections(rows: pa.Table, node_of: "Sequence[str]", used: "Mapping[tuple[str, int], int | None]") -> pa.Table:
    """Return the figures of each connection on a date; `used` has what nodes used in each minute."""
    messages = pc.add(zero(rows, "publish"), zero(rows, "deliver"))
    names: dict[str, int] = {}
    numbers = pa.array([names.setdefault(node, len(names)) for node in node_of], pa.int64())
    # One number stands for a minute of a node.
    minute = pc.add(pc.multiply(pc.divide(rows["at"], MINUTE_S), len(names)), numbers.take(rows["n"]))
    every = sums(pa.table({"minute": minute, "messages": messages}), ("minute",))
    known = [*names]
    each_ms = []
    for number, count in zip(every["minute"].to_pylist(), every["messages"].to_pylist(), strict=True):
        begin, node = divmod(number, len(names))
        cpu_ms = used.get((known[node], begin * MINUTE_S))
        each_ms.append(cpu_ms / count if count and cpu_ms is not None else 0.0)
    share = pa.array(each_ms, pa.float64()).take(pc.index_in(minute, value_set=every["minute"].combine_chunks()))
    made = {
        "n": rows["n"],
        **{column: pc.fill_null(rows[column], "") for column in SCOPES.values()},
        **{name: zero(rows, column) for name, column in FIGURES.items()},
        "cpu_ms": pc.multiply(messages.cast(pa.float64()), share),
    }
    return sums(pa.table(made), ("n", *SCOPES.values()))


def peaks(minutes: Minutes) -> list[dict[str, Any]]:
    """Return the most that waited in the queues of each virtual host: a sum of peaks in the same five minutes."""
    names, parts = {"ready": "ready_max", "octets": "bytes_last"}, []
    places: dict[tuple[str, str], int] = {}
    for rows in minutes:
        made = {"at": pc.divide(rows["at"], EVERY_S), **{name: rows[column] for name, column in names.items()}}
        one = by_thing(pa.table({"n": rows["n"], **made}), {name: (name, "max") for name in names}, ("n", "at"))
        of_queues = [places.setdefault(key[:2], len(places)) for key in minutes.things]
        one = one.set_column(0, "n", pa.array(of_queues, pa.int64()).take(one["n"]))
        parts.append(by_thing(sums(one, ("n", "at")), {name: (name, "max") for name in names}))
    found = together(parts, dict.fromkeys(names, "max")).to_pylist() if parts else []
    known = [*places]
    return [
        {"node": known[row["n"]][0], "vhost": known[row["n"]][1]}
        | {"peak_backlog": row["ready"], "peak_octets": row["octets"]}
        for row in found
    ]


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    connections = run.minutes(CONNECTION_1M, (*FIGURES.values(), *SCOPES.values()))
    found = shares(connections, run.minutes(NODE_1M, ("cpu_ms",)))
    used = {(one["node"], one["scope"], one["name"]): one for one in found}
    totals: dict[str, int] = {}
    for rows in run.rows(NODE_1M, ("node", "cpu_ms")):
        for row in by_thing(rows, {"cpu_ms": ("cpu_ms", "sum")}, ("node",)).to_pylist():
            totals[row["node"]] = totals.get(row["node"], 0) + (row["cpu_ms"] or 0)
    for node, cpu_ms in totals.items():
        mine = sum(one["cpu_ms"] for one in used.values() if (one["node"], one["scope"]) == (node, USER))
        used[node, NODE, node] = {"node": node, "scope": NODE, "name": node, "cpu_ms": max(0.0, cpu_ms - mine)}
    for one in used.values():
        total = totals.get(one["node"], 0)
        share = round(one["cpu_ms"] / total, 4) if total else None
        one |= {"cpu_s": round(one["cpu_ms"] / 1000, 1), "cpu_share": share}
    for row in peaks(levels.of_queues(run, ("ready_max", "bytes_last"))):
        node, vhost = row["node"], row["vhost"]
        # A virtual host may have queues and no connection.
        one = used.setdefault((node, VHOST, vhost), {"node": node, "scope": VHOST, "name": vhost})
        one |= {name: row[name] for name in ("peak_backlog", "peak_octets")}
    rank = (VHOST, USER, PUBLISHER, NODE)
    ranked = sorted(
        used.values(), key=lambda one: (rank.index(one["scope"]), -one.get("cpu_s", 0), one["name"], one["node"])
    )
    shown = [[one.get(name) for name, _ in COLUMNS] for one in ranked]
    summary: list[tuple[str, Any]] = [
        (f"{scope}s", len({one["name"] for one in ranked if one["scope"] == scope})) for scope in rank[:3]
    ]
    summary.append(("seconds of processor time", round(sum(totals.values()) / 1000, 1)))
    told = foremost(advice(one) for one in ranked if one["scope"] == USER)
    return run.report("accounting", COLUMNS, shown, details={"connections", "node"}, summary=summary, advice=told)


def advice(one: dict[str, Any]) -> str:
    """Return what a user used, in a sentence."""
    part = "" if one["cpu_share"] is None else f"about {one['cpu_share']:.0%} of the processor time, "
    octets = f"{size(one['octets_in'])} in, {size(one['octets_out'])} out"
    messages = f"{one['published']:,} messages published, {one['delivered']:,} got"
    return f"user '{one['name']}' on {one['node']}: {part}{messages}, {octets}"
