"""consume_event_stream: events of the node from now on, as JSON lines, for a time or until the caller leaves."""

import re
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control import streaming
from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterator


class Args(NamedTuple):
    """The duration, and a pattern of events."""

    duration: Annotated[int | None, Arg("duration in seconds; default: until Ctrl-C", "-d --duration", "seconds")] = (
        None
    )
    pattern: Annotated[str, Arg("regular expression that an event's name must match somewhere", "--pattern")] = ".*"


def check(args: Args) -> None:
    """Refuse a time or a pattern that cannot be. Raises BadArguments."""
    streaming.check_duration(args.duration)
    try:
        re.compile(args.pattern)
    except re.error as error:
        raise BadArguments(f"Bad argument: --pattern is not a regular expression: {error}", EX_DATAERR) from None


def run(node: Node, args: Args) -> "Iterator[list[dict[str, Any]]]":
    """Yield events as they come: `event` and `timestamp_in_ms`, and facts as the event exchange has them."""
    wanted = re.compile(args.pattern)
    with node.broker.events.follow(lambda name: wanted.search(name) is not None) as poll:
        yield from streaming.batches(poll, node.pause, args.duration)


COMMAND = Command(
    name="consume_event_stream",
    section="Monitoring",
    summary="Prints the node's events as they happen, one JSON object per line",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    check=check,
    streams="json",
)
