"""redrive: dead letters go back to the queues in which they died."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_queue, find_vhost
from pybroker.control.arguments.moving import carry_out, check_limits, refuse_obstacle, survey
from pybroker.control.arguments.rates import parse_rate
from pybroker.control.audit_reader import printable
from pybroker.control.humanize import counted
from pybroker.control.spec import Arg, Command, Node, Progress, VHostArg

if TYPE_CHECKING:
    from collections.abc import Generator

REASONS = ("rejected", "expired", "maxlen", "delivery_limit")


class Args(NamedTuple):
    """The queue with the dead letters, which of them, and how fast."""

    queue: Annotated[str, Arg("queue that has the dead letters", names="queue")]
    reason: Annotated[
        str | None, Arg("only messages that died for this reason: " + ", ".join(REASONS), "--reason", "reason", REASONS)
    ] = None
    origin: Annotated[
        str | None,
        Arg("only messages that died in this queue, even if they died elsewhere later", "--origin", "queue"),
    ] = None
    through_exchange: Annotated[
        bool,
        Arg(
            "publish them again to their original exchange with their original routing key, for queues that are gone; "
            "all queues that are bound there now get them",
            "--through-exchange",
        ),
    ] = False
    number: Annotated[int | None, Arg("number of messages at most; default: all", "-c --count", "number")] = None
    rate: Annotated[str | None, Arg("messages per second, such as 500/s; default: unlimited", "--rate", "rate")] = None
    dry_run: Annotated[bool, Arg("count the messages by queue and reason, move none", "--dry-run")] = False
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse limits that cannot be. Raises BadArguments."""
    check_limits(args.number, args.rate)


def run(node: Node, args: Args) -> "Generator[Progress, None, dict[str, Any]]":
    """Move them back; what was moved is on disk when this returns. Raises Refused."""
    move = node.broker.moves.redrive(
        find_queue(find_vhost(node.broker, args.vhost), args.queue),
        origin=args.origin,
        reason=args.reason,
        through_exchange=args.through_exchange,
        messages_max=args.number,
        rate=None if args.rate is None else parse_rate(args.rate),
    )
    facts = {"source": args.queue, "vhost": args.vhost}
    refuse_obstacle(move)
    if not args.dry_run:
        return (yield from carry_out(node, move, **facts))
    found = yield from survey(node, move)
    origins, lines = [], [f"{counted(found.total(), 'message')} would be moved"]
    for (queue, reason), messages in found.most_common():
        origins.append({"queue": queue, "reason": reason, "messages": messages})
        lines.append(f"{counted(messages, 'message')}: {printable(reason)} in queue '{printable(queue)}'")
    return node.result("\n".join(lines), **facts, messages=found.total(), origins=origins, dry_run=True)


def _banner(args: Args) -> str:
    begin = "Would move" if args.dry_run else "Moving"
    return begin + " dead letters of queue '{queue}' in vhost '{vhost}' back ..."


COMMAND = Command(
    name="redrive",
    section="Messages",
    summary="Moves dead letters back to the queues in which they died",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
    banner=_banner,
    examples=(
        "pybrokerctl redrive dead-letters --dry-run",
        "pybrokerctl redrive dead-letters --reason rejected --rate 100/s",
        "pybrokerctl redrive dead-letters --origin orders --count 10",
    ),
)
