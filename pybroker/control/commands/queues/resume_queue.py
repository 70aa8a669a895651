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
    """Resume it. Raises Refused for an unknown name, and where nobody is paused whom it would let go."""
    queue = find_queue(find_vhost(node.broker, args.vhost), args.queue)
    both = args.publish == args.consume
    publish, consume = both or args.publish, both or args.consume
    name, order = f"queue '{queue.name}' in vhost '{args.vhost}'", queue.paused
    if order is None:
        raise Refused(f"{name} is not paused")
    if not (publish and order.publish) and not (consume and order.consume):
        others = "publishers" if publish else "consumers"
        raise Refused(f"{name} is not paused for {others}; it is for {order.whom}", facts=facts(queue))
    position = node.broker.pauses.resume_queue(queue, node.cause, publish=publish, consume=consume)
    left = "" if queue.paused is None else f"; it is still paused for {queue.paused.whom}"
    return Changed(position, node.result(f"Q{name[1:]} was resumed{left}", **facts(queue)))


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
