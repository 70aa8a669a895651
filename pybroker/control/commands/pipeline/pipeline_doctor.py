"""pipeline_doctor: whether the pipeline could run here: Java, packages, memory, folders."""

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
    return {"words": ["doctor", *options(args)]}


COMMAND = Command(
    name="pipeline_doctor",
    section=SECTION,
    summary="Checks the requirements of the pipeline: Java, packages, memory, folders",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="pipeline",
)
