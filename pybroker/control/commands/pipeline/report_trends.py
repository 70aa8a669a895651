"""report_trends: findings of the pipeline's job trends."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node
from pybroker.verdicts import meanings


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("trends", args)


COMMAND = Command(
    name="report_trends",
    section=SECTION,
    summary="Displays lag, rejects and dead letters of queues, compared with the same hour of former weeks",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
    verdicts=meanings("trends"),
)
