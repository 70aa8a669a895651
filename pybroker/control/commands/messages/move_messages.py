"""move_messages: messages of a queue go to another queue, or to an exchange."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.durations import parse_duration_ms
from pybroker.control.arguments.lookup import find_exchange, find_queue, find_vhost
from pybroker.control.arguments.messages import WhereArg, conditions
from pybroker.control.arguments.moving import carry_out, check_limits, find_source, refuse_obstacle, rehearse, survey
from pybroker.control.arguments.rates import parse_rate
from pybroker.control.spec import EX_DATAERR, EX_USAGE, Arg, BadArguments, Command, Node, Progress, Refused, VHostArg

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.core.queue.move.move import Move

# A year.
AGE_MS_MAX = 31_536_000_000


class Args(NamedTuple):
    """From where to where, which ones, and how fast."""

    source: Annotated[str, Arg("queue to move messages from", names="queue")]
    to: Annotated[str | None, Arg("queue to move them to", "--to", "queue", names="queue")] = None
    to_exchange: Annotated[
        str | None, Arg("exchange to publish them to", "--to-exchange", "exchange", names="exchange")
    ] = None
    routing_key: Annotated[
        str | None, Arg("routing key to publish them with; default: that of each message", "--routing-key", "key")
    ] = None
    number: Annotated[int | None, Arg("number of messages at most; default: all", "-c --count", "number")] = None
    rate: Annotated[
        str | None, Arg("messages per second, such as 500 or 500/s; default: unlimited", "--rate", "rate")
    ] = None
    where: WhereArg = ()
    older_than: Annotated[
        str | None, Arg("only messages that have been in the queue for longer, such as 5m", "--older-than", "duration")
    ] = None
    dry_run: Annotated[
        bool, Arg("only print how many messages would be moved, and what would stop the move", "--dry-run")
    ] = False
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse what does not say where to. Raises BadArguments."""
    if (args.to is None) == (args.to_exchange is None):
        raise BadArguments("Bad argument: specify --to or --to-exchange", EX_DATAERR)
    if args.routing_key is not None and args.to_exchange is None:
        raise BadArguments("Bad argument: --routing-key requires --to-exchange", EX_DATAERR)
    if args.routing_key is not None and len(args.routing_key.encode()) > 255:
        raise BadArguments("Bad argument: --routing-key is longer than 255 octets", EX_DATAERR)
    conditions(args.where)
    if args.older_than is not None:
        parse_duration_ms(args.older_than, 0, AGE_MS_MAX, "--older-than")
    check_limits(args.number, args.rate)


def run(node: Node, args: Args) -> "Generator[Progress, None, dict[str, Any]]":
    """Move them; what was moved is on disk when this returns. Raises Refused."""
    move = _prepared(node, args)
    facts = {"source": args.source, "vhost": args.vhost, "target": move.target.name}
    refuse_obstacle(move)
    if not args.dry_run:
        return (yield from carry_out(node, move, **facts))
    yield from survey(node, move)
    return rehearse(node, move, **facts)


def _chooses(args: Args) -> bool:
    return bool(args.where) or args.older_than is not None


def _prepared(node: Node, args: Args) -> "Move":
    """Return the move, which has not begun. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    source = find_source(vhost, args.source)
    limits: dict[str, Any] = {
        "where": _where(node, args) if _chooses(args) else None,
        "messages_max": args.number,
        "rate": None if args.rate is None else parse_rate(args.rate),
    }
    if args.to is not None:
        if args.to == args.source:
            raise Refused(f"source and target are the same queue, '{args.to}'", EX_USAGE)
        return node.broker.moves.to_queue(source, find_queue(vhost, args.to), **limits)
    assert args.to_exchange is not None
    exchange = find_exchange(vhost, args.to_exchange)
    if exchange.internal:
        name = f"exchange '{exchange.name}' in virtual host '{vhost.name}'"
        raise Refused(f"{name} is internal: nothing can be published there")
    return node.broker.moves.to_exchange(source, exchange, args.routing_key, **limits)


def _where(node: Node, args: Args) -> dict[str, Any]:
    """Return what messages must have, as `Filter` takes it."""
    older_ms = None if args.older_than is None else parse_duration_ms(args.older_than, 0, AGE_MS_MAX)
    before_ms = None if older_ms is None else node.broker.clock.now_ms - older_ms
    return {"headers": conditions(args.where), "arrived_before_ms": before_ms}


def _banner(args: Args) -> str:
    return ("Would move" if args.dry_run else "Moving") + " messages of queue '{source}' in vhost '{vhost}' ..."


COMMAND = Command(
    name="move_messages",
    section="Messages",
    summary="Moves messages of a queue to another queue, or to an exchange",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
    one_of=(("to", "to_exchange"),),
    banner=_banner,
    examples=(
        "pybrokerctl move_messages old-orders --to orders --dry-run",
        "pybrokerctl move_messages old-orders --to orders --count 1000 --rate 100/s",
        "pybrokerctl move_messages old-orders --to orders --where country=fr --older-than 1h",
        "pybrokerctl move_messages old-orders --to-exchange shop --routing-key order.again",
    ),
)
