"""delete_queue: remove a queue and its messages."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.spec import EX_USAGE, Arg, Changed, Command, Node, Refused, VHostArg


class Args(NamedTuple):
    """The queue and under which conditions."""

    queue_name: Annotated[str, Arg("name of the queue", names="queue")]
    if_empty: Annotated[bool, Arg("only if no message is ready", "-e --if-empty")] = False
    if_unused: Annotated[bool, Arg("only if it has no consumer", "-u --if-unused")] = False
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Delete it; its consumers are cancelled. Raises Refused for an unknown name or an unmet condition."""
    if not args.queue_name:
        raise Refused("queue name cannot be an empty string")
    vhost = find_vhost(node.broker, args.vhost)
    queue = find_queue(vhost, args.queue_name)
    if args.if_empty and (queue.messages_ready or queue.messages_delayed):
        raise Refused("The queue is not empty", EX_USAGE)
    if args.if_unused and queue.in_use:
        raise Refused("The queue is in use", EX_USAGE)
    over: list[int] = []
    count = vhost.delete_queue(queue, node.cause, over.append)
    return Changed(node.wait(over), f"Queue was successfully deleted with {count} ready messages")


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner with its conditions."""
    conditions = ["if queue is empty "] * args.if_empty + ["if queue is unused "] * args.if_unused
    return f"Deleting queue '{{queue_name}}' on vhost '{{vhost}}' {'and '.join(conditions)}..."


COMMAND = Command(
    name="delete_queue",
    section="Queues",
    summary="Deletes a queue",
    args=Args,
    effect="destroy",
    access="administrator",
    run=run,
    banner=banner,
)
