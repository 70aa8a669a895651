"""accounting: who uses how much, by virtual host, user and publisher?

Messages and octets are the growth of the connections' totals. Processor time is the node's, shared out minute by minute
in proportion to the messages that connections published and got: an estimate, since no one measures a message. Time of
minutes without a message belongs to nobody.
"""

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f

from pybroker.spark.pipeline.columns.minutes import Minutes, by_thing, sums, together
from pybroker.spark.pipeline.jobs.people import foremost, size
from pybroker.spark.pipeline.schemas import CONNECTION_1M, NODE_1M, QUEUE_1M

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pybroker.spark.pipeline.run import Run

VHOST, USER, PUBLISHER, NODE = "vhost", "user", "publisher", "node"
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


def shares(connections: "DataFrame", nodes: "DataFrame") -> "DataFrame":
    """Return a row for each virtual host, user and publisher of a node.

    `connections` are connection_1m, `nodes` node_1m.
    """
    figures = {"published": "publish", "delivered": "deliver", "octets_in": "recv_oct", "octets_out": "send_oct"}
    messages = f.coalesce("publish", f.lit(0)) + f.coalesce("deliver", f.lit(0))
    minutes = connections.withColumn("messages", messages)
    every = minutes.groupBy("node", "ts").agg(f.sum("messages").alias("every")).where(f.col("every") > 0)
    each = every.join(nodes, ["node", "ts"]).select("node", "ts", (f.col("cpu_ms") / f.col("every")).alias("each_ms"))
    # Of a connection there are very many minutes: they are added up before anything else.
    known = minutes.join(f.broadcast(each), ["node", "ts"], "left")
    connection = known.groupBy("node", "conn_id", "vhost", "user", "client_name").agg(
        *(f.sum(f.coalesce(column, f.lit(0))).alias(name) for name, column in figures.items()),
        f.coalesce(f.sum(f.col("messages") * f.col("each_ms")), f.lit(0.0)).alias("cpu_ms"),
    )
    scopes = [
        f.struct(f.lit(scope).alias("scope"), f.coalesce(column, f.lit("")).alias("name"))
        for scope, column in ((VHOST, "vhost"), (USER, "user"), (PUBLISHER, "client_name"))
    ]
    return (
        connection.withColumn("who", f.explode(f.array(*scopes)))
        .groupBy("node", "who.scope", "who.name")
        .agg(
            f.count_distinct("conn_id").alias("connections"),
            *(f.sum(name).alias(name) for name in (*figures, "cpu_ms")),
        )
    )


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
    nodes = run.read(NODE_1M)
    used = {(row.node, row.scope, row.name): row.asDict() for row in shares(run.read(CONNECTION_1M), nodes).collect()}
    totals = {row.node: row.cpu_ms or 0 for row in nodes.groupBy("node").agg(f.sum("cpu_ms").alias("cpu_ms")).collect()}
    for node, cpu_ms in totals.items():
        mine = sum(one["cpu_ms"] for one in used.values() if (one["node"], one["scope"]) == (node, USER))
        used[node, NODE, node] = {"node": node, "scope": NODE, "name": node, "cpu_ms": max(0.0, cpu_ms - mine)}
    for one in used.values():
        total = totals.get(one["node"], 0)
        share = round(one["cpu_ms"] / total, 4) if total else None
        one |= {"cpu_s": round(one["cpu_ms"] / 1000, 1), "cpu_share": share}
    for row in peaks(run.minutes(QUEUE_1M, ("ready_max", "bytes_last"))):
        node, vhost = row["node"], row["vhost"]
        # A virtual host may have queues and no connection.
        one = used.setdefault((node, VHOST, vhost), {"node": node, "scope": VHOST, "name": vhost})
        one |= {name: row[name] for name in ("peak_backlog", "peak_octets")}
    rank = (VHOST, USER, PUBLISHER, NODE)
    found = sorted(
        used.values(), key=lambda one: (rank.index(one["scope"]), -one.get("cpu_s", 0), one["name"], one["node"])
    )
    rows = [[one.get(name) for name, _ in COLUMNS] for one in found]
    summary: list[tuple[str, Any]] = [
        (f"{scope}s", len({one["name"] for one in found if one["scope"] == scope})) for scope in rank[:3]
    ]
    summary.append(("seconds of processor time", round(sum(totals.values()) / 1000, 1)))
    told = foremost(advice(one) for one in found if one["scope"] == USER)
    return run.report("accounting", COLUMNS, rows, details={"connections", "node"}, summary=summary, advice=told)


def advice(one: dict[str, Any]) -> str:
    """Return what a user used, in a sentence."""
    part = "" if one["cpu_share"] is None else f"about {one['cpu_share']:.0%} of the processor time, "
    octets = f"{size(one['octets_in'])} in, {size(one['octets_out'])} out"
    messages = f"{one['published']:,} messages published, {one['delivered']:,} got"
    return f"user '{one['name']}' on {one['node']}: {part}{messages}, {octets}"
