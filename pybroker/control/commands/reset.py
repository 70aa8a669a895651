"""reset: a node as on its first start."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> None:
    """Forget every definition and message, and make the default virtual host and user again."""
    del args
    node.daemon.reset()


COMMAND = Command(
    name="reset",
    section="Nodes",
    summary="Forgets every definition and message, leaving what a fresh node has; wants stop_app before",
    args=NoArgs,
    effect="destroy",
    access="administrator",
    run=run,
    banner="Resetting node {node} ...",
    app="stopped",
)
