"""report_accounting: findings of the pipeline's job accounting."""

from typing import Any

from pybroker.control.arguments.pipeline import SECTION, ReportArgs, report
from pybroker.control.spec import Command, Node


def run(node: Node, args: ReportArgs) -> dict[str, Any]:
    """Return which, and what makes it anew."""
    del node
    return report("accounting", args)


COMMAND = Command(
    name="report_accounting",
    section=SECTION,
    summary="Displays messages, octets, processor time and backlog by virtual host, user and publisher",
    args=ReportArgs,
    effect="read",
    access="administrator",
    run=run,
    app="any",
    offline="results",
)
