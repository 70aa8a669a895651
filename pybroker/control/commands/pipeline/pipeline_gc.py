"""pipeline_gc: removes from the warehouse what is too old, and what a run that was killed left behind."""

from typing import Any, NamedTuple

from pybroker.control.arguments.pipeline import SECTION, TelemetryArg, WarehouseArg, options
from pybroker.control.spec import Command, Node


class Args(NamedTuple):
    """The folders."""

    warehouse: WarehouseArg = None
    telemetry: TelemetryArg = None


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the words."""
    del node
    return {"words": ["gc", *options(args)]}


COMMAND = Command(
    name="pipeline_gc",
    section=SECTION,
    summary="Removes expired data, and leftovers of killed runs, from the warehouse",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    app="any",
    offline="pipeline",
)
