"""message_size_stats: how many messages of which size publishers have sent since the start."""

from itertools import pairwise
from typing import TYPE_CHECKING

from pybroker.control.spec import Column, Command, NoArgs, Node

if TYPE_CHECKING:
    from collections.abc import Iterable


def run(node: Node, args: NoArgs) -> "Iterable[tuple[str, int, str]]":
    """Return name, messages and percentage of each range."""
    del args
    sizes = node.broker.message_sizes
    counts = sizes.counts
    total = sum(counts) or 1
    names = _names([_size(octets) for octets in sizes.bounds])
    return [(name, count, f"{100 * count / total:.2f}") for name, count in zip(names, counts, strict=True)]


def _names(bounds: list[str]) -> list[str]:
    """Return the names of the ranges that so many bounds make."""
    between = [f"between {low} and {high}" for low, high in pairwise(bounds)]
    return [f"below {bounds[0]}", *between, f"above {bounds[-1]}"]


def _size(octets: int) -> str:
    """Return `100B`, `10KB`, `50MB`."""
    for unit, each in (("MB", 1_000_000), ("KB", 1_000)):
        if octets >= each:
            return f"{octets // each}{unit}"
    return f"{octets}B"


COMMAND = Command(
    name="message_size_stats",
    section="Monitoring",
    summary="Displays the sizes of messages published since the node started",
    args=NoArgs,
    effect="read",
    access="monitoring",
    run=run,
    columns=(
        Column("Message Size", lambda row: row[0], "size of the body; KB is 1,000 bytes"),
        Column(
            "Count",
            lambda row: row[1],
            "published messages, routed or not; of a batch of different sizes two are sampled",
        ),
        Column("Percentage", lambda row: row[2], "share of all messages"),
    ),
    banner="Gathering message size statistics across the cluster using node {node} ...",
    timeout_s=60,
)
