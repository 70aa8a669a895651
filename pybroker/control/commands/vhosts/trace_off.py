"""trace_off: no more copies to amq.rabbitmq.trace."""

from typing import NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Command, Node, VHostArg


class Args(NamedTuple):
    """The virtual host."""

    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> str:
    """Stop tracing. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    vhost.trace(on=False)
    return f"Trace disabled for vhost {vhost.name}"


COMMAND = Command(
    name="trace_off",
    section="Virtual hosts",
    summary="Stops tracing",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Stopping tracing for vhost "{vhost}" ...',
)
