"""delete_queue: remove a queue and its messages."""

from functools import partial
from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.arguments.removals import when_gone
from pybroker.control.spec import EX_USAGE, Arg, Changed, Command, Node, Refused, VHostArg, reply_facts
from pybroker.errors import PreconditionFailed


class Args(NamedTuple):
    """The queue and under which conditions."""

    queue_name: Annotated[str, Arg("name of the queue", names="queue")]
    if_empty: Annotated[bool, Arg("only if no message is ready", "-e --if-empty")] = False
    if_unused: Annotated[bool, Arg("only if it has no consumer", "-u --if-unused")] = False
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Delete it; its consumers are cancelled. Raises Refused for an unknown name or an unmet condition, AmqpError."""
    if not args.queue_name:
        raise Refused("queue name cannot be an empty string")
    vhost = find_vhost(node.broker, args.vhost)
    find_queue(vhost, args.queue_name)
    user = node.broker.users.acting(node.user.name)
    conditions = {"if_empty": args.if_empty, "if_unused": args.if_unused}
    try:
        queue = when_gone(node, partial(vhost.queue_to_delete, user, args.queue_name, **conditions))
    except PreconditionFailed as error:
        text = "The queue is in use" if error.text.endswith("in use") else "The queue is not empty"
        raise Refused(text, EX_USAGE, reply_facts(error)) from None
    assert queue is not None
    over: list[int] = []
    kept = queue.messages if queue.retains else 0  # 0 in queue.delete-ok, as in RabbitMQ
    count = vhost.delete_queue(queue, node.cause, over.append) + kept
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
    access="management",
    run=run,
    banner=banner,
)
