"""trace_on: copies of all messages to amq.rabbitmq.trace, the firehose."""

from typing import NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Command, Node, VHostArg


class Args(NamedTuple):
    """The virtual host."""

    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> str:
    """Trace what is published and delivered from now on, until the node stops. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    vhost.trace(on=True)
    return f"Trace enabled for vhost {vhost.name}"


COMMAND = Command(
    name="trace_on",
    section="Virtual hosts",
    summary="Starts tracing: copies every published or delivered message to amq.rabbitmq.trace",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Starting tracing for vhost "{vhost}" ...',
)
