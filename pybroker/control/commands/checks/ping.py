"""ping: does the daemon answer."""

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> str:
    """Return rabbitmq-diagnostics' sentence."""
    del node, args
    return "Ping succeeded"


COMMAND = Command(
    name="ping",
    section="Monitoring",
    summary="Checks that the daemon responds on its control socket",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
    banner="Will ping {node}. This only checks that the daemon responds on its control socket. Timeout: "
    "{timeout_ms} ms.",
    timeout_s=60,
    app="any",
)
