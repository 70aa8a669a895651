"""get_messages: take messages from a queue's head as a client does, and acknowledge them or put them back."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.arguments.messages import (
    BODY_SIZE,
    BODY_SIZE_MAX,
    FormatArg,
    check_body_size,
    check_count,
)
from pybroker.control.spec import EX_USAGE, Arg, AwaitShown, BadArguments, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Generator

# So many are held while the others are taken.
COUNT_MAX = 10_000


class Args(NamedTuple):
    """The queue, how many, and what becomes of them."""

    queue: Annotated[str, Arg("name of the queue", names="queue")]
    vhost: VHostArg = "/"
    number: Annotated[
        int, Arg(f"number of messages at most (default: 1, maximum: {COUNT_MAX})", "-c --count", "number")
    ] = 1
    ack: Annotated[
        bool, Arg("acknowledge them: they leave the queue once all of them are written, whole by default", "--ack")
    ] = False
    reject: Annotated[
        bool,
        Arg("reject them: they go to the dead letter exchange of the queue, if it has one", "--reject"),
    ] = False
    requeue: Annotated[
        bool, Arg("return them to their places (default); this sets redelivered and counts a delivery", "--requeue")
    ] = False
    body_size: Annotated[
        int | None,
        Arg(
            f"octets of each body that are shown (default: {BODY_SIZE}, with --ack {BODY_SIZE_MAX}); longer ones "
            "are cut",
            "--body-size",
            "octets",
        ),
    ] = None
    format: FormatArg = None


def check(args: Args) -> None:
    """Refuse what cannot be. Raises BadArguments."""
    if args.ack + args.reject + args.requeue > 1:
        raise BadArguments("Bad argument: specify one of --ack, --reject and --requeue", EX_USAGE)
    check_count(args.number, COUNT_MAX)
    if args.body_size is not None:
        check_body_size(args.body_size)


def run(node: Node, args: Args) -> "Generator[list[dict[str, Any]] | AwaitShown, None, dict[str, int]]":
    """Yield messages as documents; they are settled when the caller has said that all of them are shown.

    Bodies are whole before they are acknowledged, unless a size was given. Return how many messages the queue has, of
    which those that are not ready cannot be got now. Raises Refused, AmqpError.
    """
    vhost = find_vhost(node.broker, args.vhost)
    queue = find_queue(vhost, args.queue)
    raw = args.format == "raw"
    is_whole = raw or (args.ack and args.body_size is None)
    size = BODY_SIZE if args.body_size is None else args.body_size
    batches = vhost.get_messages(
        queue,
        node.broker.users.acting(node.user.name),
        cause=node.cause,
        pause=node.pause,
        messages_max=args.number,
        ack=args.ack,
        reject=args.reject,
        body_octets_max=BODY_SIZE_MAX if is_whole else size,
        whole=is_whole,
        raw=raw,
    )
    for batch in batches:
        if batch is not None:
            yield batch
            continue
        yield AwaitShown()
        if next(node.lines, None) is None:
            break
    return {name: getattr(queue, name) for name in ("messages_ready", "messages_unacknowledged", "messages_delayed")}


COMMAND = Command(
    name="get_messages",
    section="Messages",
    summary="Takes messages from the head of a queue, and returns, acknowledges or rejects them",
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
