"""audit: the last entries of the audit log: who did what from where, and why something is gone."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Column, ColumnsArg, Command, Node
from pybroker.control.trail import Wanted, detail, entries, parse_since

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRIES_MAX = 10_000
SINCE = "a time such as 90s, 15m, 2h, 3d, or 2026-05-01T12:00"


class Args(NamedTuple):
    """Columns, how many, and which."""

    columns: ColumnsArg = ()
    number: Annotated[int, Arg(f"how many entries, at most {ENTRIES_MAX}", "-N --number", "number")] = 50
    since: Annotated[
        str | None, Arg("not older than this: 90s, 15m, 2h, 3d, or a time as 2026-05-01T12:00 (UTC)", "--since", "time")
    ] = None
    event: Annotated[str | None, Arg("of this event, queue.deleted, or kind of events, queue", "--event", "event")] = (
        None
    )
    name: Annotated[str | None, Arg("about what has this name", "--name", "name")] = None
    user: Annotated[str | None, Arg("of what this user did", "--user", "user", names="user")] = None
    vhost: Annotated[str | None, Arg("in this virtual host", "-p --vhost", "vhost", names="vhost")] = None


def check(args: Args) -> None:
    """Refuse a number or a time that cannot be. Raises BadArguments."""
    if not 0 < args.number <= ENTRIES_MAX:
        raise BadArguments(f"Bad argument: --number takes a number of entries from 1 to {ENTRIES_MAX}", EX_DATAERR)
    if args.since is not None:
        try:
            parse_since(args.since, 0)
        except (ValueError, OverflowError):
            raise BadArguments(f"Bad argument: --since takes {SINCE}", EX_DATAERR) from None


def run(node: Node, args: Args) -> list[dict[str, Any]]:
    """Return the entries, the oldest first. Raises Refused when the node writes no audit log."""
    since = "" if args.since is None else parse_since(args.since, node.broker.clock.timestamp_ms)
    wanted = Wanted(args.event, args.name, args.vhost, args.user, since)
    found: list[dict[str, Any]] = []
    for entry in entries(node.daemon.audit_lines(node.pause), wanted):
        found.append(entry)
        if len(found) == args.number:
            break
    return found[::-1]


def _text(key: str) -> "Callable[[dict[str, Any]], Any]":
    return lambda entry: entry.get(key, "")


COLUMNS = (
    Column("time", _text("time"), "when, UTC"),
    Column(
        "event",
        _text("event"),
        "what happened: RabbitMQ's names, and command, queue.purged, node.started, node.stopped",
    ),
    Column("vhost", _text("vhost"), "virtual host"),
    Column("name", _text("name"), "of what it is about: queue, exchange, user, command ..."),
    Column("user", _text("user"), "who did it; rmq-cli: an operator's command, rmq-internal: the broker itself"),
    Column("peer", _text("peer"), "from where: the client's address, or user id and process of a command"),
    Column("connection", _text("connection"), "the client's connection"),
    Column("cause", _text("cause"), "why: client, command, or what the broker did it for"),
    Column("detail", detail, "what else there is to know, as text"),
    Column("facts", lambda entry: entry.get("facts", {}), "the same for programs"),
)

COMMAND = Command(
    name="audit",
    section="Monitoring",
    summary="Lists the last entries of the audit log: who did what from where, and why a queue is gone",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=COLUMNS,
    default=("time", "event", "vhost", "name", "user", "peer", "cause", "detail"),
    banner="Listing the audit log of node {node} ...",
    app="any",
    check=check,
)
