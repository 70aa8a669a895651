"""stream_read: show messages of a stream from any place on, and those that come."""

from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pybroker.control import streaming
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.messages import (
    BODY_SIZE,
    BODY_SIZE_MAX,
    BodySizeArg,
    FormatArg,
    WhereArg,
    check_body_size,
    conditions,
)
from pybroker.control.arguments.stream_places import NAMES, find_stream, offset_of, parse_place
from pybroker.control.spec import EX_DATAERR, EX_USAGE, Arg, BadArguments, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.core.stream.stream import Stream

LIMIT: Final = 10
LIMIT_MAX: Final = 1_000_000_000_000


class Args(NamedTuple):
    """The stream, from where to where, which messages, and how they are shown."""

    stream: Annotated[str, Arg("name of the stream", names="queue")]
    start: Annotated[
        str,
        Arg(
            "where to begin: first (default), last (the last chunk), next, OFFSET, -N (so many before the end), a time "
            "such as 2026-05-01T12:00 (UTC), or a time ago such as 1h",
            "--from",
            "place",
        ),
    ] = "first"
    to: Annotated[
        str | None, Arg("where to end: the OFFSET of the last message, or a time as above", "--to", "place")
    ] = None
    limit: Annotated[
        int | None,
        Arg(f"number of messages at most (default: {LIMIT}; with --to or --follow all)", "-c --limit", "number"),
    ] = None
    filter_values: Annotated[
        tuple[str, ...],
        Arg("only messages with this x-stream-filter-value; if repeated, with one of them", "--filter", "value"),
    ] = ()
    where: WhereArg = ()
    follow: Annotated[bool, Arg("go on with messages that come, until Ctrl-C", "--follow")] = False
    body_size: BodySizeArg = BODY_SIZE
    format: FormatArg = None
    vhost: VHostArg = "/"

    @property
    def messages_max(self) -> int | None:
        """Return how many messages are shown at most."""
        return LIMIT if self.limit is None and self.to is None and not self.follow else self.limit


def check(args: Args) -> None:
    """Refuse what cannot be. Raises BadArguments."""
    parse_place(args.start, "--from", NAMES)
    if args.to is not None:
        parse_place(args.to, "--to")
    if args.limit is not None and not 0 < args.limit <= LIMIT_MAX:
        raise BadArguments(f"Bad argument: --limit must be from 1 to {LIMIT_MAX}", EX_DATAERR)
    conditions(args.where)
    check_body_size(args.body_size)
    if args.follow and (args.format == "pretty_table" or (args.format == "json" and args.limit is None)):
        # Ctrl-C would leave an array open.
        more = "; ndjson has a document on each line" if args.format == "json" else ""
        text = f"Bad argument: --follow cannot be combined with --format {args.format}{more}"
        raise BadArguments(text, EX_USAGE)


def run(node: Node, args: Args) -> "Generator[list[dict[str, Any]], None, dict[str, int]]":
    """Yield messages as documents, in their order; return where the stream begins and ends.

    Raises Refused, AmqpError.
    """
    stream = find_stream(find_vhost(node.broker, args.vhost), args.stream)
    if args.follow:
        with streaming.reader():
            yield from _read(node, args, stream)
    else:
        yield from _read(node, args, stream)
    return {"first_offset": stream.first_offset, "next_offset": stream.next_offset}


def _read(node: Node, args: Args, stream: "Stream") -> "Generator[list[dict[str, Any]], None, None]":
    start = yield from offset_of(node, stream, parse_place(args.start, "--from", NAMES), [])
    stop = None
    if args.to is not None:
        place = parse_place(args.to, "--to")
        stop = (yield from offset_of(node, stream, place, [])) + (place.offset is not None)
    raw = args.format == "raw"
    yield from stream.documents(
        node.broker.users.acting(node.user.name),
        node.pause,
        start=start,
        stop=stop,
        messages_max=args.messages_max,
        values=args.filter_values,
        headers=conditions(args.where),
        body_octets_max=BODY_SIZE_MAX if raw else args.body_size,
        raw=raw,
        follow=args.follow,
    )


COMMAND = Command(
    name="stream_read",
    section="Streams",
    summary="Shows messages of a stream from any offset or time on, without touching anything",
    args=Args,
    effect="read",
    access="management",
    run=run,
    check=check,
    banner="Messages of stream '{stream}' in vhost '{vhost}' ...",
    streams="json",
    examples=(
        "pybrokerctl stream read orders --from -5",
        "pybrokerctl stream read orders --from 2026-05-01T12:00 --to 2026-05-01T12:05 --where country=fr",
        "pybrokerctl stream read orders --from next --follow --format ndjson",
    ),
)
