"""get_messages: take messages from a queue's head as a client does, and acknowledge them or put them back."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.arguments.messages import (
    BODY_SIZE,
    BODY_SIZE_MAX,
    BodySizeArg,
    FormatArg,
    check_body_size,
    check_count,
)
from pybroker.control.spec import EX_USAGE, Arg, BadArguments, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterator

# So many are held while the others are taken.
COUNT_MAX = 10_000


class Args(NamedTuple):
    """The queue, how many, and what becomes of them."""

    queue: Annotated[str, Arg("name of the queue", names="queue")]
    vhost: VHostArg = "/"
    number: Annotated[
        int, Arg(f"number of messages at most (default: 1, maximum: {COUNT_MAX})", "-c --count", "number")
    ] = 1
    ack: Annotated[bool, Arg("acknowledge them: they leave the queue as soon as they have been shown", "--ack")] = False
    requeue: Annotated[
        bool, Arg("put them back to their places (default); redelivered is set, and a delivery counted", "--requeue")
    ] = False
    body_size: BodySizeArg = BODY_SIZE
    format: FormatArg = None


def check(args: Args) -> None:
    """Refuse what cannot be. Raises BadArguments."""
    if args.ack and args.requeue:
        raise BadArguments("Bad argument: specify --ack or --requeue, not both", EX_USAGE)
    check_count(args.number, COUNT_MAX)
    check_body_size(args.body_size)


def run(node: Node, args: Args) -> "Iterator[list[dict[str, Any]]]":
    """Yield messages as documents; those of a list are acknowledged when the next one is asked for.

    Raises Refused, AmqpError.
    """
    vhost = find_vhost(node.broker, args.vhost)
    raw = args.format == "raw"
    yield from vhost.get_messages(
        find_queue(vhost, args.queue),
        node.broker.users.acting(node.user.name),
        cause=node.cause,
        pause=node.pause,
        messages_max=args.number,
        ack=args.ack,
        body_octets_max=BODY_SIZE_MAX if raw else args.body_size,
        raw=raw,
    )


COMMAND = Command(
    name="get_messages",
    section="Messages",
    summary="Takes messages from the head of a queue, and puts them back or acknowledges them",
    args=Args,
    effect="write",
    access="management",
    run=run,
    check=check,
    banner="Getting messages from queue '{queue}' in vhost '{vhost}' ...",
    streams="json",
    examples=(
        "pybrokerctl get_messages orders --ack --format raw > body",
        "pybrokerctl get_messages orders --count 5 --requeue",
    ),
)
