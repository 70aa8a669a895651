"""purge_queue: drop the messages of a queue that are ready, or wait for their retry."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.spec import Arg, Command, Node, VHostArg


class Args(NamedTuple):
    """The queue."""

    queue: Annotated[str, Arg("name of the queue", names="queue")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> None:
    """Drop ready and delayed messages; delivered and unacknowledged ones stay.

    Raises Refused for an unknown name, AmqpError.
    """
    vhost = find_vhost(node.broker, args.vhost)
    find_queue(vhost, args.queue)
    vhost.purge_queue(node.broker.users.acting(node.user.name), args.queue, node.cause)


COMMAND = Command(
    name="purge_queue",
    section="Queues",
    summary="Drops all messages of a queue that are ready or delayed until a retry; unacknowledged ones stay",
    args=Args,
    effect="destroy",
    access="management",
    run=run,
    banner="Purging queue '{queue}' in vhost '{vhost}' ...",
)
