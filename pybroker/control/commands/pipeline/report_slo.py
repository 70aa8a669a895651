"""report_slo: findings of the pipeline's job slo."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node
from pybroker.verdicts import meanings


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("slo", args)


COMMAND = Command(
    name="report_slo",
    section=SECTION,
    summary="Displays ages of messages and times to consume of queues, compared with their targets",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
    verdicts=meanings("slo"),
)
