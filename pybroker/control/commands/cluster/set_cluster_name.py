"""set_cluster_name: the name that clients see in server-properties."""

from typing import Annotated, NamedTuple

from pybroker.control.spec import Arg, Changed, Command, Node, Refused


class Args(NamedTuple):
    """The name."""

    cluster_name: Annotated[str, Arg("new name of the cluster", "", "name")]


def run(node: Node, args: Args) -> Changed:
    """Set it; connections that stand were told the old one. Raises Refused."""
    if not args.cluster_name or len(args.cluster_name.encode()) > 255:
        raise Refused("the name of a cluster must have 1 to 255 octets")
    return Changed(node.broker.name_cluster(args.cluster_name, node.cause))


COMMAND = Command(
    name="set_cluster_name",
    section="Cluster",
    summary="Sets the cluster name sent to clients; a name in the configuration replaces it at the next start",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Setting cluster name to {cluster_name} ...",
)
