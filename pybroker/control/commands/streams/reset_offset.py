"""reset_offset: change the offset that a consumer stored, so that it reads again, or goes on elsewhere."""

from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.stream_places import (
    NAMES,
    WAITING,
    check_offset,
    find_stream,
    offset_of,
    parse_place,
    tracked,
)
from pybroker.control.spec import EX_TEMPFAIL, Arg, Command, Node, Progress, Refused, VHostArg

if TYPE_CHECKING:
    from collections.abc import Generator

# Between two looks whether it is on disk.
PAUSE_S: Final = 0.001


class Args(NamedTuple):
    """The stream, the consumer's name, and the offset."""

    stream: Annotated[str, Arg("name of the stream", "--stream", "stream", names="queue")]
    reference: Annotated[str, Arg("name by which the consumer stores its offset", "--reference", "name")]
    to: Annotated[
        str,
        Arg(
            "OFFSET to store, behind which clients go on (default: 0), or where they go on: first, last (the last "
            "chunk), next, -N (so many before the end), a time such as 2026-05-01T12:00 (UTC), or a time ago as 1h",
            "--to",
            "place",
        ),
    ] = "0"
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse what is no place. Raises BadArguments."""
    parse_place(args.to, "--to", NAMES)


def run(node: Node, args: Args) -> "Generator[Progress, None, dict[str, Any]]":
    """Store the offset; that is on disk when this returns. Raises Refused."""
    stream = find_stream(find_vhost(node.broker, args.vhost), args.stream)
    place = parse_place(args.to, "--to", NAMES)
    offset = yield from offset_of(node, stream, place, WAITING)
    last = max(0, stream.next_offset - 1)
    if place.offset is None or place.offset < 0:
        offset = max(0, offset - 1)  # it is the message with which they go on
    check_offset(stream, offset, last)
    tracking = yield from tracked(node, stream, WAITING)
    before = tracking.offset(args.reference)
    if before is None:
        raise Refused(f"no consumer has stored an offset as '{args.reference}' in stream '{stream.name}'")
    tracking.store_offset(args.reference, offset)
    position = stream.log.commit_position
    stream.log.want(position)
    while stream.log.completed < position:
        if stream.log.failed:
            why = f"the log has failed: {stream.log.failed}; mend the disk and start the node again"
            raise Refused(f"the offset cannot be stored: {why}", EX_TEMPFAIL)
        node.pause(PAUSE_S)
        yield WAITING
    return node.result(
        f"Done: offset {offset} is stored for '{args.reference}'; it was {before}",
        stream=stream.name,
        vhost=args.vhost,
        reference=args.reference,
        offset=offset,
        offset_before=before,
    )


COMMAND = Command(
    name="reset_offset",
    section="Streams",
    summary="Changes the offset that a consumer stored in a stream",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
    banner="Resetting stored offset ...",
    examples=(
        "pybrokerctl reset_offset --stream orders --reference billing",
        "pybrokerctl reset_offset --stream orders --reference billing --to 1h",
    ),
)
