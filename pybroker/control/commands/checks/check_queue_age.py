"""check_queue_age: health check that fails if a message has been in a queue for too long."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.durations import parse_duration_ms
from pybroker.control.arguments.queue_choice import AllVHostsArg, PatternArg, find_queues
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Command, Node, Refused, VHostArg
from pybroker.humanize import counted, lasting
from pybroker.text.duration import UNITS_MS, shortest

if TYPE_CHECKING:
    from pybroker.core.queue.age import Aged

OLDER_MS_MAX = 3_650 * UNITS_MS["d"]


class Args(NamedTuple):
    """The bound, and the queues it is for."""

    older_than: Annotated[
        str,
        Arg(
            "age that neither may exceed, such as 10s or 1h30m (default: 5m); not of lower priorities, nor of retries",
            "--older-than",
            "duration",
        ),
    ] = "5m"
    vhost: VHostArg = "/"
    pattern: PatternArg = ""
    all_vhosts: AllVHostsArg = False


def check(args: Args) -> None:
    """Refuse what is no duration. Raises BadArguments."""
    parse_duration_ms(args.older_than, 1, OLDER_MS_MAX, "--older-than")


def run(node: Node, args: Args) -> str:
    """Return that all is well. Raises Refused with a line for each queue that has an older message."""
    broker = node.broker
    older_ms = parse_duration_ms(args.older_than, 1, OLDER_MS_MAX, "--older-than")
    queues = find_queues(broker, args)
    found = broker.ages.older(queues, older_ms, node.pause)
    if found:
        raise Refused("\n".join(map(_sentence, found)), EX_UNAVAILABLE, {"queues": [*map(_facts, found)]})
    of = counted(len(queues), "queue")
    return f"No head and no unacknowledged message of {of} is older than {shortest(older_ms)}."


def _sentence(aged: "Aged") -> str:
    message = "the message at its head" if aged.is_head else "its oldest unacknowledged message"
    return f"{aged.queue!r}: {message} is {lasting(aged.age_ms // 1000 * 1000)} old"


def _facts(aged: "Aged") -> dict[str, Any]:
    message = "head" if aged.is_head else "unacknowledged"
    return {"vhost": aged.queue.vhost.name, "name": aged.queue.name, "message": message, "age_ms": aged.age_ms}


COMMAND = Command(
    name="check_queue_age",
    section="Monitoring",
    summary="Health check: fails if the next message of a queue, or its oldest unacknowledged one, is older than this",
    args=Args,
    effect="read",
    access="management",
    run=run,
    check=check,
    banner="Checking the age of messages on node {node} ...",
    examples=("pybrokerctl check_queue_age --older-than 5m --pattern '^orders'",),
)
