"""cancel_scheduled: drop messages that wait in a delayed message exchange, before they are due."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.schedules import cancel, find_schedule
from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Command, Node, Progress, Refused, VHostArg

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.core.delayed.index import Waiting
    from pybroker.core.delayed.schedule import Schedule

# Looked at between two words of progress.
STEP_MESSAGES = 1_024


class Args(NamedTuple):
    """The exchange, and which of its messages."""

    exchange: Annotated[str, Arg("exchange that holds the messages", names="exchange")]
    ids: Annotated[tuple[str, ...], Arg("ids, as list_scheduled shows them", "", "id")] = ()
    routing_key: Annotated[
        str | None, Arg("messages whose routing key matches this regular expression", "--routing-key", "pattern")
    ] = None
    everything: Annotated[bool, Arg("all of them", "--all")] = False
    dry_run: Annotated[bool, Arg("only print the number of messages", "--dry-run")] = False
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse what does not say which ones. Raises BadArguments."""
    if bool(args.ids) + (args.routing_key is not None) + args.everything != 1:
        raise BadArguments("Bad argument: specify ids, --routing-key or --all", EX_DATAERR)
    for each in args.ids:
        if not (each.isascii() and each.isdigit()):
            raise BadArguments(
                f"Bad argument: '{each}' is not an id; 'pybrokerctl list_scheduled' lists them", EX_DATAERR
            )


def run(node: Node, args: Args) -> "Generator[Progress, None, dict[str, Any]]":
    """Drop them, for good when this returns. Raises Refused: an id is not there, then nothing is dropped."""
    schedule = find_schedule(find_vhost(node.broker, args.vhost), args.exchange)
    matches = schedule.matcher(args.routing_key) if args.routing_key is not None else None
    if isinstance(matches, str):
        raise Refused(f"'{args.routing_key}' is not a valid regular expression: {matches}")
    return _run(node, args, schedule, matches)


def _run(node: Node, args: Args, schedule: "Schedule", matches: Any) -> "Generator[Progress, None, dict[str, Any]]":
    chosen = _by_id(schedule, args.ids)
    if not args.ids:
        total = schedule.messages
        for count, each in enumerate(schedule.walk(node.pause, contents=matches is not None), 1):
            if matches is None or matches(each.routing_key):
                chosen.append(each.waiting)
            if count % STEP_MESSAGES == 0:
                yield Progress(count, max(count, total))
    count = len(chosen)
    if not args.dry_run:
        count = 0
        for at in range(0, len(chosen), STEP_MESSAGES):
            count += cancel(node, schedule, chosen[at : at + STEP_MESSAGES])
            yield Progress(min(at + STEP_MESSAGES, len(chosen)), len(chosen))
    messages = "1 message" if count == 1 else f"{count} messages"
    what = f"{messages} would be cancelled" if args.dry_run else f"{messages} cancelled"
    return node.result(what, exchange=args.exchange, vhost=args.vhost, messages=count, dry_run=args.dry_run)


def _by_id(schedule: "Schedule", ids: tuple[str, ...]) -> "list[Waiting]":
    """Return the messages of these ids. Raises Refused for one that is not there."""
    chosen = []
    for each in dict.fromkeys(int(one) for one in ids):
        waiting = schedule.find(each)
        if waiting is None:
            raise Refused(f"no message with id {each} is scheduled in exchange '{schedule.exchange.name}'")
        chosen.append(waiting)
    return chosen


def _banner(args: Args) -> str:
    begin = "Would cancel" if args.dry_run else "Cancelling"
    return begin + " scheduled messages of exchange '{exchange}' in vhost '{vhost}' ..."


COMMAND = Command(
    name="cancel_scheduled",
    section="Queues",
    summary="Drops scheduled messages of a delayed message exchange",
    args=Args,
    effect="destroy",
    access="administrator",
    run=run,
    check=check,
    one_of=(("ids", "routing_key", "everything"),),
    banner=_banner,
)
