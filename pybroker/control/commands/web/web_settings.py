"""web_settings: what the configuration says about pybroker-web."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the settings by section."""
    del args
    return node.daemon.web_settings


COMMAND = Command(
    name="web_settings",
    section="Monitoring",
    summary="Tells pybroker-web what the configuration says about it",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
    app="any",
)
