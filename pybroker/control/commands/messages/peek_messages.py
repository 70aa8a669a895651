"""peek_messages: look at a queue's messages without touching anything."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.arguments.messages import (
    BODY_SIZE,
    BODY_SIZE_MAX,
    BodySizeArg,
    FormatArg,
    MatchArg,
    WhereArg,
    check_body_size,
    check_count,
    conditions,
    position,
    start_in,
)
from pybroker.control.spec import EX_USAGE, Arg, BadArguments, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Generator

COUNT_MAX = 1_000_000_000


class Args(NamedTuple):
    """The queue, the begin, a filter, and how messages are shown."""

    queue: Annotated[str, Arg("name of the queue", names="queue")]
    vhost: VHostArg = "/"
    start: Annotated[
        str,
        Arg(
            "where to begin: head (default), tail (newest first), or the position shown with a message: SEQ, or "
            "PRIORITY:SEQ in a queue with priorities",
            "--from",
            "position",
        ),
    ] = "head"
    newest_first: Annotated[bool, Arg("towards the head instead of the tail", "--newest-first")] = False
    number: Annotated[int, Arg("number of messages at most (default: 10)", "-c --count", "number")] = 10
    where: WhereArg = ()
    match: MatchArg = ""
    unacked: Annotated[
        bool, Arg("also messages that consumers have, with the consumer and since when", "--unacked")
    ] = False
    delayed: Annotated[
        bool, Arg("only messages that wait for their retry, in the order in which they are due", "--delayed")
    ] = False
    body_size: BodySizeArg = BODY_SIZE
    format: FormatArg = None


def check(args: Args) -> None:
    """Refuse what cannot be. Raises BadArguments."""
    position(args.start)
    conditions(args.where)
    check_count(args.number, COUNT_MAX)
    check_body_size(args.body_size)
    if args.delayed and (args.unacked or args.newest_first or args.start != "head"):
        raise BadArguments(
            "Bad argument: --delayed cannot be combined with --unacked, --from or --newest-first", EX_USAGE
        )


def run(node: Node, args: Args) -> "Generator[list[dict[str, Any]], None, dict[str, int]]":
    """Yield messages as documents, in the order in which they would be delivered; return how many the queue has.

    Raises Refused, AmqpError.
    """
    queue = find_queue(find_vhost(node.broker, args.vhost), args.queue)
    raw = args.format == "raw"
    yield from queue.peek(
        node.broker.users.acting(node.user.name),
        node.pause,
        start=start_in(queue, position(args.start)),
        newest_first=args.newest_first,
        messages_max=args.number,
        headers=conditions(args.where),
        text=args.match,
        states=("delayed",) if args.delayed else ("ready", "unacknowledged") if args.unacked else ("ready",),
        body_octets_max=BODY_SIZE_MAX if raw else args.body_size,
        raw=raw,
    )
    names = ("messages_ready", "messages_unacknowledged", "messages_delayed")
    return {name: getattr(queue, name) for name in names}


COMMAND = Command(
    name="peek_messages",
    section="Messages",
    summary="Shows messages of a queue without touching anything",
    args=Args,
    effect="read",
    access="management",
    run=run,
    check=check,
    banner="Messages of queue '{queue}' in vhost '{vhost}' ...",
    streams="json",
    examples=(
        "pybrokerctl peek_messages orders --count 3",
        "pybrokerctl peek_messages orders --from tail --where type=invoice --format json",
        "pybrokerctl peek_messages orders --unacked --match 4711",
    ),
)
