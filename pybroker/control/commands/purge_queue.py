"""purge_queue: drop the messages of a queue that are ready."""

from typing import Annotated, NamedTuple

from pybroker.control.lookup import find_queue, find_vhost
from pybroker.control.spec import Arg, Command, Node, VHostArg


class Args(NamedTuple):
    """The queue."""

    queue: Annotated[str, Arg("name of the queue", names="queue")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> None:
    """Drop what is ready; what is delivered and unacknowledged stays. Raises Refused for an unknown name."""
    from pybroker.core import telling  # noqa: PLC0415 - pybrokerctl loads this file, and not the core

    queue = find_queue(find_vhost(node.broker, args.vhost), args.queue)
    telling.queue_purged(queue, queue.purge())


COMMAND = Command(
    name="purge_queue",
    section="Queues",
    summary="Drops all messages of a queue that are ready",
    args=Args,
    effect="destroy",
    run=run,
    banner="Purging queue '{queue}' in vhost '{vhost}' ...",
)
