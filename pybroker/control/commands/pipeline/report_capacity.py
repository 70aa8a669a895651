"""report_capacity: findings of the pipeline's job capacity."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("capacity", args)


COMMAND = Command(
    name="report_capacity",
    section=SECTION,
    summary="Displays recommended memory and disk limits, found by replaying candidates over past telemetry",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
)
