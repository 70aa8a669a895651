"""accounting: who uses how much, by virtual host, user and publisher?

Messages and octets are the growth of the connections' totals. Processor time is the node's, shared out minute by minute
in proportion to the messages that connections published and got: an estimate, since no one measures a message. Time of
minutes without a message belongs to nobody.
"""

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Window, functions as f

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
    every = f.sum("messages").over(Window.partitionBy("node", "ts"))
    cpu = f.broadcast(nodes.select("node", "ts", "cpu_ms"))
    known = minutes.withColumn("part", f.when(every > 0, f.col("messages") / every)).join(cpu, ["node", "ts"], "left")
    scopes = [
        f.struct(f.lit(scope).alias("scope"), f.coalesce(column, f.lit("")).alias("name"))
        for scope, column in ((VHOST, "vhost"), (USER, "user"), (PUBLISHER, "client_name"))
    ]
    return (
        known.withColumn("who", f.explode(f.array(*scopes)))
        .groupBy("node", "who.scope", "who.name")
        .agg(
            f.count_distinct("conn_id").alias("connections"),
            *(f.sum(f.coalesce(column, f.lit(0))).alias(name) for name, column in figures.items()),
            f.coalesce(f.sum(f.col("part") * f.col("cpu_ms")), f.lit(0.0)).alias("cpu_ms"),
        )
    )


def peaks(minutes: "DataFrame") -> "DataFrame":
    """Return the most that waited in the queues of each virtual host: a sum of peaks in the same five minutes."""
    begin = f.floor(f.unix_timestamp("ts") / EVERY_S)
    one = minutes.groupBy("node", "vhost", "queue", begin.alias("at")).agg(
        f.max("ready_max").alias("ready"), f.max("bytes_last").alias("octets")
    )
    together = one.groupBy("node", "vhost", "at").agg(f.sum("ready").alias("ready"), f.sum("octets").alias("octets"))
    return together.groupBy("node", "vhost").agg(
        f.max("ready").alias("peak_backlog"), f.max("octets").alias("peak_octets")
    )


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
    for row in peaks(run.read(QUEUE_1M)).collect():
        # A virtual host may have queues and no connection.
        one = used.setdefault((row.node, VHOST, row.vhost), {"node": row.node, "scope": VHOST, "name": row.vhost})
        one |= {"peak_backlog": row.peak_backlog, "peak_octets": row.peak_octets}
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
