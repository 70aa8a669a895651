"""memory_breakdown: where the memory of the process is. The categories add up to the resident set.

Without `reusable` they add up to the figure that the memory limit is compared with.
"""

from typing import Annotated, Any, NamedTuple

from pybroker.control.spec import EX_UNAVAILABLE, Arg, Command, Node, Refused

UNITS = ("bytes", "mb", "mib", "gb", "gib", "tb", "tib")


class Args(NamedTuple):
    """The unit is for pybrokerctl: the document counts octets."""

    unit: Annotated[str, Arg(f"unit of sizes: {', '.join(UNITS)}", "--unit", choices=UNITS, any_case=True)] = "gb"


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return octets and percentage by category, the largest first.

    The kernel counts the resident set and the code in it, the broker its messages and buffers, malloc what it holds
    free. Of what is free, `reusable` is what the limit is not compared with: all categories without it are. The rest
    is Python's: the program's objects, connections, definitions. Raises Refused without /proc.
    """
    del args
    contents, entries, buffers = node.broker.memory_usage(node.pause)
    total, code, unused = node.daemon.resident_set()
    if not total:
        raise Refused("this operating system does not report the memory use of a process", EX_UNAVAILABLE)
    reusable = node.broker.settings.watermarks.measured.reusable
    parts = {
        "code": code,
        "reusable": reusable,
        "message_contents": contents,
        "queue_entries": entries,
        "connection_buffers": buffers,
        "allocated_unused": unused - reusable,
    }
    found, left = {}, total
    for name, octets in parts.items():
        # Memory that is counted by its size may have been swapped out, or never been touched: limit it to the rest.
        found[name] = max(0, min(octets, left))
        left -= found[name]
    found["other"] = left
    return {
        name: {"bytes": octets, "percentage": round(octets * 100 / total, 2)}
        for name, octets in sorted(found.items(), key=lambda pair: -pair[1])
    }


COMMAND = Command(
    name="memory_breakdown",
    section="Monitoring",
    summary="Displays the memory use of the node's process by category",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    banner="Reporting memory breakdown on node {node}...",
    app="any",
)
