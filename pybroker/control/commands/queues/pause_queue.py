"""pause_queue: have publishers or consumers of a queue wait, over restarts, until it is resumed."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.arguments.pauses import check_reason
from pybroker.control.spec import Arg, BadArguments, Changed, Command, Node, VHostArg

if TYPE_CHECKING:
    from pybroker.core.queue.pause import Mode

MODES = ("withhold", "refuse")


class Args(NamedTuple):
    """The queue, whom to pause, and why."""

    queue: Annotated[str, Arg("name of the queue", names="queue")]
    why: Annotated[str, Arg("reason, shown to everybody who wonders", "--why", "reason")]
    publish: Annotated[bool, Arg("only publishers", "--publish")] = False
    consume: Annotated[bool, Arg("only consumers", "--consume")] = False
    mode: Annotated[
        str,
        Arg(
            "how publishers are paused: withhold (default) leaves their publishes unread and unconfirmed, and whatever "
            "else their connections send; refuse rejects each publish, as overflow=reject-publish does: publishers "
            "without confirms lose it",
            "--mode",
            "mode",
            choices=MODES,
        ),
    ] = MODES[0]
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse an empty reason, and a mode that would have no effect. Raises BadArguments."""
    check_reason(args.why)
    if args.mode != MODES[0] and args.consume and not args.publish:
        raise BadArguments("--mode is for publishers: it cannot be used with --consume alone")


def run(node: Node, args: Args) -> Changed:
    """Pause it. A former order remains in force. Raises Refused for an unknown name."""
    queue = find_queue(find_vhost(node.broker, args.vhost), args.queue)
    both = args.publish == args.consume
    mode: Mode = "refuse" if args.mode == "refuse" else "withhold"
    publish, consume = both or args.publish, both or args.consume
    position = node.broker.pauses.pause_queue(queue, args.why, node.cause, publish=publish, consume=consume, mode=mode)
    return Changed(position, node.result(_told(queue), **facts(queue)))


def facts(queue: Any) -> dict[str, Any]:
    """Return what programs are told of a queue's pause."""
    order = queue.paused
    told = {"queue": queue.name, "vhost": queue.vhost.name, "paused": order.what if order else ""}
    return {**told, "mode": order.mode, "why": order.why} if order else told


def _told(queue: Any) -> str:
    order = queue.paused
    whom = {"publish": "publishers", "consume": "consumers"}.get(order.what, "publishers and consumers")
    until = "until it is resumed" if queue.durable else "until it is resumed, or the node restarts: it is not durable"
    return f"Queue '{queue.name}' in vhost '{queue.vhost.name}' is paused for {whom} {until}"


COMMAND = Command(
    name="pause_queue",
    section="Queues",
    summary="Pauses publishers, consumers or both of a queue until it is resumed, over restarts too",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Pausing queue '{queue}' in vhost '{vhost}' ...",
    check=check,
)
