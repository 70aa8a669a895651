"""Rows of nodes: there are few nodes, so each has its rows by itself."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.spark.pipeline.columns import codes


def by_node(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield each node, and its rows."""
    for node in pc.unique(rows["node"]).to_pylist():
        yield node, rows.filter(pc.equal(rows["node"], node))


def together(dates: Iterable[pa.Table]) -> dict[str, pa.Table]:
    """Return the rows of each node, those of all dates in the order of time."""
    found: dict[str, list[pa.Table]] = {}
    for rows in dates:
        for node, mine in by_node(rows):
            found.setdefault(node, []).append(mine)
    return {node: _in_order(pa.concat_tables(found[node])) for node in sorted(found)}


def _in_order(rows: pa.Table) -> pa.Table:
    order = codes.in_order(rows, [rows["ts"].combine_chunks()])
    return (rows if order is None else rows.take(order)).combine_chunks()
