"""report_unroutable: findings of the pipeline's job unroutable."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node
from pybroker.verdicts import meanings


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("unroutable", args)


COMMAND = Command(
    name="report_unroutable",
    section=SECTION,
    summary="Displays unroutable and dead-lettered messages",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
    verdicts=meanings("unroutable"),
)
