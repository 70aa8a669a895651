"""stream_truncate: remove the messages of a stream that are before an offset or a time."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.stream_places import (
    WAITING,
    answered,
    check_offset,
    find_stream,
    offset_of,
    parse_place,
)
from pybroker.control.spec import Arg, Command, Node, Progress, VHostArg
from pybroker.humanize import counted

if TYPE_CHECKING:
    from collections.abc import Generator


class Args(NamedTuple):
    """The stream, and what stays."""

    stream: Annotated[str, Arg("name of the stream", names="queue")]
    before: Annotated[
        str,
        Arg(
            "OFFSET of the first message that stays, a time such as 2026-05-01T12:00 (UTC), or a time ago such as 7d",
            "--before",
            "place",
        ),
    ]
    dry_run: Annotated[bool, Arg("only print how many messages would go", "--dry-run")] = False
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse what is no place. Raises BadArguments."""
    parse_place(args.before, "--before")


def run(node: Node, args: Args) -> "Generator[Progress, None, dict[str, Any]]":
    """Move the start of the stream; that is on disk when this returns. Raises Refused."""
    stream = find_stream(find_vhost(node.broker, args.vhost), args.stream)
    offset = yield from offset_of(node, stream, parse_place(args.before, "--before"), WAITING)
    check_offset(stream, offset, stream.next_offset)
    offset = max(offset, stream.first_offset)
    count = offset - stream.first_offset
    if not args.dry_run and count:
        yield from answered(node, stream, lambda done: stream.truncate(offset, done), WAITING)
    what = f"{counted(count, 'message')} {'would go' if args.dry_run else 'removed'}"
    return node.result(
        f"{what}; the first offset {'would be' if args.dry_run else 'is'} {offset}",
        stream=stream.name,
        vhost=args.vhost,
        messages=count,
        first_offset=offset,
        next_offset=stream.next_offset,
        dry_run=args.dry_run,
    )


def _banner(args: Args) -> str:
    begin = "Would remove" if args.dry_run else "Removing"
    return begin + " messages before {before} from stream '{stream}' in vhost '{vhost}' ..."


COMMAND = Command(
    name="stream_truncate",
    section="Streams",
    summary="Removes the messages of a stream before an offset or a time",
    args=Args,
    effect="destroy",
    access="administrator",
    run=run,
    check=check,
    banner=_banner,
    examples=(
        "pybrokerctl stream truncate orders --before 7d --dry-run",
        "pybrokerctl stream truncate orders --before 1500000",
    ),
)
