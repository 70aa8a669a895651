"""rotate_logs: open the log files by their names again, after something moved them away, as SIGHUP does."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> str:
    """Open them. Raises Refused when one cannot be opened, which is then written on as before."""
    del args
    node.daemon.reopen_log()
    return f"Reopened the log files of node {node.name}"


# Differs from RabbitMQ: there it does nothing any more and fails.
COMMAND = Command(
    name="rotate_logs",
    section="Nodes",
    summary="Reopens the log files after logrotate has renamed them",
    args=NoArgs,
    effect="write",
    access="administrator",
    run=run,
    banner="Reopening logs for node {node} ...",
    app="any",
)
