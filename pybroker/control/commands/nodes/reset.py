"""reset: a node as on its first start."""

from pybroker.control.spec import Changed, Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> Changed:
    """Forget every definition and message, and make the default virtual host and user again."""
    del args
    return Changed(node.daemon.reset(node.cause))


COMMAND = Command(
    name="reset",
    section="Nodes",
    summary="Deletes all definitions and messages, leaving a new node; requires stop_app first",
    args=NoArgs,
    effect="destroy",
    access="administrator",
    run=run,
    banner="Resetting node {node} ...",
    app="stopped",
)
