"""config_reload: the configuration is read anew, and what needs no restart takes effect; all of it or nothing."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Reload; return the keys that changed, and those that did not. Raises Refused with each fault: nothing changed."""
    del args
    return node.daemon.configuration.reload(node.cause)


COMMAND = Command(
    name="config_reload",
    section="Configuration",
    summary="Reads the configuration files again and applies what needs no restart; changes nothing if a file is wrong",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="Reloading the configuration of node {node} ...",
    app="any",
)
