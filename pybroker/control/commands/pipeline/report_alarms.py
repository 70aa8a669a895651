"""report_alarms: findings of the pipeline's job alarms."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node
from pybroker.verdicts import meanings


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("alarms", args)


COMMAND = Command(
    name="report_alarms",
    section=SECTION,
    summary="Displays when memory or disk alarms were set, by how much, and which queues grew before",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
    verdicts=meanings("alarms"),
)
