"""report_forecast: findings of the pipeline's job forecast."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node
from pybroker.verdicts import meanings


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("forecast", args)


COMMAND = Command(
    name="report_forecast",
    section=SECTION,
    summary="Displays when memory, disk space and the limits of queues will be used up at the recent rate",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
    verdicts=meanings("forecast"),
)
