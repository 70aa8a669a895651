"""pipeline_status: how the last runs of the pipeline went, what tables there are, and how far they are behind."""

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
    return {"words": ["status", *options(args)]}


COMMAND = Command(
    name="pipeline_status",
    section=SECTION,
    summary="Displays the last runs of the pipeline, its tables, and how far they lag behind",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="pipeline",
)
