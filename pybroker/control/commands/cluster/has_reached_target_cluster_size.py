"""has_reached_target_cluster_size: health check that never fails: one node is all there can be."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> str:
    """Return rabbitmqctl's sentence."""
    del args
    return f"Target cluster size has been reached on node {node.name}"


COMMAND = Command(
    name="has_reached_target_cluster_size",
    section="Cluster",
    summary="Health check: fails if nodes of the cluster are missing; never for a single node",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
    banner="Checking if target cluster size has been reached on node {node} ...",
)
