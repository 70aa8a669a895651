"""resume_queue: let publishers and consumers of a paused queue continue."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.commands.queues.pause_queue import facts
from pybroker.control.spec import Arg, Changed, Command, Node, Refused, VHostArg


class Args(NamedTuple):
    """The queue, and whom to let go."""

    queue: Annotated[str, Arg("name of the queue", names="queue")]
    publish: Annotated[bool, Arg("only publishers", "--publish")] = False
    consume: Annotated[bool, Arg("only consumers", "--consume")] = False
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Resume it. Raises Refused for an unknown name, and for a queue that is not paused."""
    queue = find_queue(find_vhost(node.broker, args.vhost), args.queue)
    if queue.paused is None:
        raise Refused(f"queue '{queue.name}' in vhost '{args.vhost}' is not paused")
    both = args.publish == args.consume
    position = node.broker.pauses.resume_queue(
        queue, node.cause, publish=both or args.publish, consume=both or args.consume
    )
    left = "" if queue.paused is None else f"; still paused: {queue.paused.what}"
    told = f"Queue '{queue.name}' in vhost '{args.vhost}' was resumed{left}"
    return Changed(position, node.result(told, **facts(queue)))


COMMAND = Command(
    name="resume_queue",
    section="Queues",
    summary="Lets publishers, consumers or both of a paused queue continue",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Resuming queue '{queue}' in vhost '{vhost}' ...",
)
