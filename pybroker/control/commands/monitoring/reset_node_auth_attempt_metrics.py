"""reset_node_auth_attempt_metrics: count logins from zero."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> None:
    """Reset the counts."""
    del args
    node.broker.logins.forget_attempts()


COMMAND = Command(
    name="reset_node_auth_attempt_metrics",
    section="Monitoring",
    summary="Resets the counters of list_node_auth_attempt_stats",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="Reset auth attempt metrics on node {node} ...",
)
