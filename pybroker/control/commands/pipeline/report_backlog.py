"""report_backlog: findings of the pipeline's job backlog."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node
from pybroker.verdicts import meanings


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("backlog", args)


COMMAND = Command(
    name="report_backlog",
    section=SECTION,
    summary="Displays which queues grow or are full, when they will be full, and how many consumers they have",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
    verdicts=meanings("backlog"),
)
