"""report_blocked: findings of the pipeline's job blocked."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("blocked", args)


COMMAND = Command(
    name="report_blocked",
    section=SECTION,
    summary="Displays which connections were blocked or throttled, for how long, and why",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
)
