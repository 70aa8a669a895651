"""trace_message: what becomes of messages, event by event, until they have settled or time is up."""

from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pybroker.control.arguments.durations import parse_duration_ms
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.messages import conditions
from pybroker.control.spec import EX_DATAERR, EX_TEMPFAIL, Arg, BadArguments, Command, Node, Refused, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT_MAX: Final = 1_000
DURATION_MS_MAX: Final = 86_400_000
# Events at a time; between two such batches others have the loop.
BATCH: Final = 200
# How often is looked whether something has come.
PAUSE_S: Final = 0.05


class Args(NamedTuple):
    """Which messages, and when it ends."""

    queue: Annotated[str, Arg("messages that reach this queue", "--queue", "queue", names="queue")] = ""
    exchange: Annotated[
        str | None,
        Arg(
            "messages published to this exchange; '' is the default exchange",
            "--exchange",
            "exchange",
            names="exchange",
        ),
    ] = None
    header: Annotated[
        tuple[str, ...],
        Arg(
            "messages with this header, as HEADER=VALUE; if repeated, with all of them",
            "--header --where",
            "header=value",
        ),
    ] = ()
    vhost: VHostArg = "/"
    number: Annotated[
        int,
        Arg(
            f"messages to follow, {COUNT_MAX} at most (default: 1); the trace ends when these have settled",
            "-c --count",
            "number",
        ),
    ] = 1
    duration: Annotated[
        str, Arg("time after which the trace ends in any case, up to 1d (default: 10m)", "-d --duration", "duration")
    ] = "10m"


def check(args: Args) -> None:
    """Refuse what cannot be. Raises BadArguments."""
    if not args.queue and args.exchange is None and not args.header:
        raise BadArguments("Bad argument: specify --queue, --exchange or --header")
    conditions(args.header, "--header")
    if not 0 < args.number <= COUNT_MAX:
        raise BadArguments(f"Bad argument: --count must be from 1 to {COUNT_MAX}", EX_DATAERR)
    parse_duration_ms(args.duration, 1_000, DURATION_MS_MAX, "--duration")


def run(node: Node, args: Args) -> "Iterator[list[dict[str, Any]]]":
    """Yield events as they come, each with its sentence as `text`. Raises Refused.

    The trace ends when its reader leaves.
    """
    from pybroker.control.explain.message_trace import sentence  # noqa: PLC0415 - pybrokerctl loads this file as well

    vhost = find_vhost(node.broker, args.vhost)
    if args.queue and args.queue not in vhost.queues:
        raise Refused(f"there is no queue '{args.queue}' in virtual host '{vhost.name}'")
    if args.exchange is not None and args.exchange not in vhost.exchanges:
        raise Refused(f"there is no exchange '{args.exchange}' in virtual host '{vhost.name}'")
    duration_ms = parse_duration_ms(args.duration, 1_000, DURATION_MS_MAX)
    headers = tuple(conditions(args.header))
    trace = node.broker.traces.follow(vhost, args.number, duration_ms, args.queue, args.exchange, headers)
    if trace is None:
        raise Refused("too many traces are running already; stop one of them", EX_TEMPFAIL)
    try:
        while True:
            is_over = bool(trace.over)
            events = trace.poll(BATCH)
            yield [{**event, "text": sentence(event)} for event in events]
            if is_over and not events:
                return
            if len(events) < BATCH and not trace.over:
                node.pause(PAUSE_S)
    finally:
        trace.stop("stopped")


COMMAND = Command(
    name="trace_message",
    section="Messages",
    summary="Follows messages: where they go and by which binding, when they are on disk, who gets and settles them",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
    one_of=(("queue", "exchange", "header"),),
    banner="Tracing messages in vhost '{vhost}', {number} at most, for {duration} or until Ctrl-C ...",
    streams="json",
    examples=(
        "pybrokerctl trace_message --queue orders",
        "pybrokerctl trace_message --exchange shop --count 10 --duration 1m",
        "pybrokerctl trace_message --header customer=4711 --formatter json",
    ),
)
