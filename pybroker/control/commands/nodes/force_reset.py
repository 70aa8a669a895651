"""force_reset: as reset. There it also leaves a cluster that does not answer; a single node has none to leave."""

from pybroker.control.spec import Changed, Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> Changed:
    """Forget every definition and message, and make the default virtual host and user again."""
    del args
    return Changed(node.daemon.reset(node.cause))


COMMAND = Command(
    name="force_reset",
    section="Nodes",
    summary="Same as reset, since a single node has no cluster",
    args=NoArgs,
    effect="destroy",
    access="administrator",
    run=run,
    banner="Forcefully resetting node {node} ...",
    app="stopped",
)
