"""audit: the last entries of the audit log: what was done, by whom and from where, and why something is gone."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.audit_reader import Wanted, detail, entries, parse_since
from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Column, ColumnsArg, Command, Node

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRIES_MAX = 10_000
SINCE = "a time such as 90s, 15m, 2h, 3d, or 2026-05-01T12:00"


class Args(NamedTuple):
    """Columns, the number of entries, and filters."""

    columns: ColumnsArg = ()
    number: Annotated[int, Arg(f"number of entries, at most {ENTRIES_MAX}", "-N --number", "number")] = 50
    since: Annotated[
        str | None,
        Arg(
            "only entries newer than this: 90s, 15m, 2h, 3d, or a UTC time such as 2026-05-01T12:00", "--since", "time"
        ),
    ] = None
    event: Annotated[
        str | None, Arg("only this event, such as queue.deleted, or class of events, such as queue", "--event", "event")
    ] = None
    name: Annotated[str | None, Arg("only entries about the entity of this name", "--name", "name")] = None
    user: Annotated[str | None, Arg("only actions of this user", "--user", "user", names="user")] = None
    vhost: Annotated[str | None, Arg("in this virtual host", "-p --vhost", "vhost", names="vhost")] = None


def check(args: Args) -> None:
    """Refuse a number or a time that cannot be. Raises BadArguments."""
    if not 0 < args.number <= ENTRIES_MAX:
        raise BadArguments(f"Bad argument: --number must be from 1 to {ENTRIES_MAX}", EX_DATAERR)
    if args.since is not None:
        try:
            parse_since(args.since, 0)
        except (ValueError, OverflowError):
            raise BadArguments(f"Bad argument: --since must be {SINCE}", EX_DATAERR) from None


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
        "event: RabbitMQ's names, and command, queue.moved, queue.purged, node.started, node.stopped",
    ),
    Column("vhost", _text("vhost"), "virtual host"),
    Column("name", _text("name"), "name of the queue, exchange, user, command ..."),
    Column(
        "user", _text("user"), "user who caused it; rmq-cli: an operator's command, rmq-internal: the broker itself"
    ),
    Column("peer", _text("peer"), "address of the client, or user id and process id of the caller of a command"),
    Column("connection", _text("connection"), "connection of the client"),
    Column("cause", _text("cause"), "cause: client, command, or the broker's reason"),
    Column("detail", detail, "further details, as text"),
    Column("facts", lambda entry: entry.get("facts", {}), "further details, as JSON"),
)

COMMAND = Command(
    name="audit",
    section="Monitoring",
    summary="Lists the last entries of the audit log: who did what from where, and why queues were deleted",
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
