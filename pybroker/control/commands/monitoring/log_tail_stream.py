"""log_tail_stream: the node's log lines from now on, for a time or until the caller leaves."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control import streaming
from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterator


class Args(NamedTuple):
    """The duration."""

    duration: Annotated[int | None, Arg("duration in seconds; default: until Ctrl-C", "-d --duration", "seconds")] = (
        None
    )


def check(args: Args) -> None:
    """Refuse a time that cannot be. Raises BadArguments."""
    streaming.check_duration(args.duration)


def run(node: Node, args: Args) -> "Iterator[list[str]]":
    """Yield the lines as they come, whatever they are written to."""
    with node.daemon.follow_log() as poll:
        yield from streaming.batches(poll, node.pause, args.duration)


COMMAND = Command(
    name="log_tail_stream",
    section="Monitoring",
    summary="Prints the node's log as it is written",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    banner=lambda args: streaming.banner(args.duration),
    app="any",
    check=check,
    streams="text",
)
