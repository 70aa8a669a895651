"""redrive: dead letters go back to the queues in which they died."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.moving import (
    carry_out,
    check_limits,
    find_source,
    refuse_obstacle,
    rehearse,
    stay,
    survey,
)
from pybroker.control.arguments.rates import parse_rate
from pybroker.control.audit_reader import printable
from pybroker.control.spec import Arg, Command, Node, Progress, Refused, VHostArg
from pybroker.humanize import counted

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Generator

    from pybroker.core.queue.queue import Queue

# Of origins that are listed for people.
LINES_MAX = 20
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
    rate: Annotated[
        str | None, Arg("messages per second, such as 500 or 500/s; default: unlimited", "--rate", "rate")
    ] = None
    dry_run: Annotated[
        bool, Arg("only count the messages by queue and reason, and print what would stop it", "--dry-run")
    ] = False
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse limits that cannot be. Raises BadArguments."""
    check_limits(args.number, args.rate)


def run(node: Node, args: Args) -> "Generator[Progress, None, dict[str, Any]]":
    """Move them back; what was moved is on disk when this returns. Raises Refused."""
    queue = find_source(find_vhost(node.broker, args.vhost), args.queue)
    move = node.broker.moves.redrive(
        queue,
        origin=args.origin,
        reason=args.reason,
        through_exchange=args.through_exchange,
        messages_max=args.number,
        rate=None if args.rate is None else parse_rate(args.rate),
    )
    facts = {"source": args.queue, "vhost": args.vhost}
    refuse_obstacle(move)
    if args.dry_run:
        found = yield from survey(node, move)
        if found:
            return rehearse(node, move, *_lines(found), **facts, origins=_origins(found))
    else:
        answer = yield from carry_out(node, move, **facts)
        if move.messages:
            return answer
    return (yield from _none(node, args, queue, facts))


def _none(node: Node, args: Args, queue: "Queue", facts: dict[str, Any]) -> "Generator[Progress, None, dict[str, Any]]":
    """Return the answer where no message is wanted, with the origins there are. Raises Refused: no such origin."""
    redrive = node.broker.moves.redrive
    found = yield from survey(node, everything := redrive(queue))
    facts |= {"messages": 0, "messages_delayed": everything.staying, "origins": _origins(found)}
    facts["dry_run"] = args.dry_run
    text = "0 messages would be moved" if args.dry_run else "0 messages moved"
    if not found:
        return node.result(f"{text}: queue '{queue.name}' has no dead letters{stay(everything)}", **facts)
    wanted = f" in queue '{args.origin}'" if args.origin is not None else ""
    wanted += f" for the reason {args.reason}" if args.reason is not None else ""
    text = f"{text}: none of the dead letters in queue '{queue.name}' died{wanted}{stay(everything)}. There are:"
    text = "\n".join([text, *_lines(found)])
    if args.origin is not None and not (yield from survey(node, redrive(queue, origin=args.origin))):
        raise Refused(text, facts=facts)
    return node.result(text, **facts)


def _origins(found: "Counter[tuple[str, ...]]") -> list[dict[str, Any]]:
    return [
        {"queue": queue, "reason": reason, "messages": messages} for (queue, reason), messages in found.most_common()
    ]


def _lines(found: "Counter[tuple[str, ...]]") -> list[str]:
    """Return the most frequent origins of dead letters as lines for people."""
    lines = [
        f"{counted(messages, 'message')}: {printable(reason)} in queue '{printable(queue)}'"
        for (queue, reason), messages in found.most_common(LINES_MAX)
    ]
    others = len(found) - len(lines)
    return [*lines, *[f"and {counted(others, 'other origin')}"] * bool(others)]


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
