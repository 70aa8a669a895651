"""environment: every setting in force, and where its value comes from."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return {key: {"value": ..., "source": ...}}; passwords are hidden."""
    del args
    return {key: {"value": value, "source": source} for key, value, source in node.daemon.environment()}


COMMAND = Command(
    name="environment",
    section="Configuration",
    summary="Displays the settings in effect and their source: default, file and line, or option",
    args=NoArgs,
    effect="read",
    access="administrator",
    run=run,
    banner="Application environment of node {node} ...",
    app="any",
)
