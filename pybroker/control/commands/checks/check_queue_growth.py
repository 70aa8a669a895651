"""check_queue_growth: health check that fails if a queue will be full soon, or has work for too long."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.durations import parse_duration_ms
from pybroker.control.arguments.queue_choice import AllVHostsArg, PatternArg, find_queues
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Command, Node, Refused, VHostArg
from pybroker.humanize import counted, lasting
from pybroker.text.duration import UNITS_MS, shortest

if TYPE_CHECKING:
    from pybroker.core.stats.growth import Growth

BOUND_MS_MAX = 3_650 * UNITS_MS["d"]
DEFAULT = "1h"


class Args(NamedTuple):
    """The bounds, and the queues they are for. Without any bound both are an hour; with one, it is the only one."""

    full_within: Annotated[
        str,
        Arg(
            "fail if a queue is full, or will reach a length limit within this time, such as 30m",
            "--full-within",
            "duration",
        ),
    ] = ""
    drain_over: Annotated[
        str,
        Arg(
            "fail if the messages of a queue need longer than this to leave it, or more come and none leave",
            "--drain-over",
            "duration",
        ),
    ] = ""
    vhost: VHostArg = "/"
    pattern: PatternArg = ""
    all_vhosts: AllVHostsArg = False


def check(args: Args) -> None:
    """Refuse what is no duration. Raises BadArguments."""
    _bounds(args)


def run(node: Node, args: Args) -> str:
    """Return that all is well. Raises Refused with a line for each queue that has too much."""
    broker = node.broker
    full_ms, drain_ms = _bounds(args)
    queues = find_queues(broker, args)
    found = broker.rates.too_much(queues, _seconds(full_ms), _seconds(drain_ms), node.pause)
    if found:
        raise Refused("\n".join(map(_sentence, found)), EX_UNAVAILABLE, {"queues": [*map(_facts, found)]})
    wanted = [f"will be full within {shortest(full_ms)}"] if full_ms is not None else []
    wanted += [f"needs longer than {shortest(drain_ms)} to drain"] if drain_ms is not None else []
    return f"Of {counted(len(queues), 'queue')} none {' or '.join(wanted)}."


def _bounds(args: Args) -> tuple[int | None, int | None]:
    """Return both bounds in milliseconds; None: not asked for. Raises BadArguments."""
    given = (args.full_within, args.drain_over) if args.full_within or args.drain_over else (DEFAULT, DEFAULT)
    full, drain = [
        parse_duration_ms(text, 1_000, BOUND_MS_MAX, option) if text else None
        for text, option in zip(given, ("--full-within", "--drain-over"), strict=True)
    ]
    return full, drain


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


def _sentence(growth: "Growth") -> str:
    parts = []
    if growth.full_s == 0:
        parts.append("it is full")
    elif growth.full_s is not None:
        parts.append(f"it will be full in {lasting(growth.full_s * 1000)}")
    have = counted(growth.queue.messages, "message")
    if growth.work_s is not None:
        grows = ", and it still grows" if growth.grows else ""
        need = "needs" if growth.queue.messages == 1 else "need"
        parts.append(f"its {have} {need} {lasting(growth.work_s * 1000)} to drain{grows}")
    elif growth.grows:
        parts.append(f"it has {have}, grows, and nothing leaves it")
    return f"{growth.queue!r}: {'; '.join(parts)}"


def _facts(growth: "Growth") -> dict[str, Any]:
    return {
        "vhost": growth.queue.vhost.name,
        "name": growth.queue.name,
        "messages": growth.queue.messages,
        "time_to_full_s": growth.full_s,
        "time_to_drain_s": growth.work_s,
        "grows": growth.grows,
    }


COMMAND = Command(
    name="check_queue_growth",
    section="Monitoring",
    summary="Health check: fails if a queue will be full soon, or needs long to drain; without options, 1h each",
    args=Args,
    effect="read",
    access="management",
    run=run,
    check=check,
    banner="Checking the growth of queues on node {node} ...",
    examples=("pybrokerctl check_queue_growth --full-within 30m --drain-over 2h --pattern '^orders'",),
)
