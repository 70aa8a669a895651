"""pause_queue: have publishers or consumers of a queue wait, over restarts, until it is resumed."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.arguments.pauses import check_reason, was_paused
from pybroker.control.spec import Arg, BadArguments, Changed, Command, Node, VHostArg
from pybroker.humanize import utc

if TYPE_CHECKING:
    from pybroker.core.queue.pause import Mode, Pause
    from pybroker.core.queue.queue import Queue

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
    before = queue.paused
    both = args.publish == args.consume
    mode: Mode = "refuse" if args.mode == "refuse" else "withhold"
    publish, consume = both or args.publish, both or args.consume
    position = node.broker.pauses.pause_queue(queue, args.why, node.cause, publish=publish, consume=consume, mode=mode)
    replaced = {} if before is None else {"replaced": _order_facts(before)}
    return Changed(position, node.result(_told(queue, before), **facts(queue), **replaced))


def facts(queue: "Queue") -> dict[str, Any]:
    """Return what programs are told of a queue's pause."""
    order = queue.paused
    told = {"queue": queue.name, "vhost": queue.vhost.name}
    if order is None:
        return {**told, "paused": ""}
    return {**told, "paused": order.what, "mode": order.publishers_mode, "why": order.why}


def _order_facts(order: "Pause") -> dict[str, Any]:
    """Return what programs are told of an order that is replaced."""
    return {
        "paused": order.what,
        "mode": order.publishers_mode,
        "paused_by": order.user,
        "paused_since": utc(order.since_ms),
        "why": order.why,
    }


def _told(queue: "Queue", before: "Pause | None") -> str:
    order = queue.paused
    assert order is not None
    until = "until it is resumed" if queue.durable else "until it is resumed, or the node restarts: it is not durable"
    text = f"Queue '{queue.name}' in vhost '{queue.vhost.name}' is paused for {order.whom} {until}"
    return text if before is None else f"{text}. {was_paused(before)}"


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
