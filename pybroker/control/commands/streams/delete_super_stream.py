"""delete_super_stream: remove a super stream with its partitions and their messages."""

from functools import partial
from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.removals import when_gone
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg
from pybroker.humanize import counted


class Args(NamedTuple):
    """The super stream."""

    super_stream: Annotated[str, Arg("name of the super stream", names="exchange")]
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Delete the exchange and its partitions. Raises Refused, AmqpError."""
    vhost, user = find_vhost(node.broker, args.vhost), node.broker.users.acting(node.user.name)
    over: list[int] = []
    messages = when_gone(node, partial(vhost.delete_super_stream, user, args.super_stream, node.cause, over.append))
    return Changed(node.wait(over), f"Super stream was deleted with {counted(messages, 'message')}")


COMMAND = Command(
    name="delete_super_stream",
    section="Streams",
    summary="Deletes a super stream with its partitions and all their messages",
    args=Args,
    effect="destroy",
    access="management",
    run=run,
    banner="Deleting super stream '{super_stream}' on vhost '{vhost}' ...",
)
