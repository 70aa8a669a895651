"""report_consumers: findings of the pipeline's job consumers."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node
from pybroker.verdicts import meanings


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("consumers", args)


COMMAND = Command(
    name="report_consumers",
    section=SECTION,
    summary="Displays queues whose consumers are missing, stuck, idle, or requeue or reject everything",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
    verdicts=meanings("consumers"),
)
