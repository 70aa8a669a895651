"""message_size_stats: how many messages of which size publishers have sent since the start."""

from typing import TYPE_CHECKING

from pybroker.control.spec import Column, Command, NoArgs, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

# Of core/message_sizes.py, whose bounds these name; a test compares.
NAMES = (
    "below 100B",
    "between 100B and 1KB",
    "between 1KB and 10KB",
    "between 10KB and 100KB",
    "between 100KB and 1MB",
    "between 1MB and 10MB",
    "between 10MB and 50MB",
    "between 50MB and 100MB",
    "above 100MB",
)


def run(node: Node, args: NoArgs) -> "Iterable[tuple[str, int, str]]":
    """Return name, messages and percentage of each range."""
    del args
    counts = node.broker.message_sizes.counts
    total = sum(counts) or 1
    return [(name, count, f"{100 * count / total:.2f}") for name, count in zip(NAMES, counts, strict=True)]


COMMAND = Command(
    name="message_size_stats",
    section="Monitoring",
    summary="Displays how many messages of which size were published since the node started",
    args=NoArgs,
    effect="read",
    access="monitoring",
    run=run,
    columns=(
        Column("Message Size", lambda row: row[0], "size of the body; KB is 1,000 bytes"),
        Column(
            "Count",
            lambda row: row[1],
            "messages that publishers sent, routed or not; of a batch of different sizes 16 are looked at",
        ),
        Column("Percentage", lambda row: row[2], "share of all messages"),
    ),
    banner="Gathering message size statistics across the cluster using node {node} ...",
    timeout_s=60,
)
