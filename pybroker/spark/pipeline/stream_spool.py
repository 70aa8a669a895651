"""The node's own stream of telemetry as files like the node's: what reads these makes the same tables of them.

Lines go into `<table>/<hour>.<stream>-<offset of the first>.<node>.ndjson`, where `<stream>` is the time at which it
was met: one that was made anew has other files. How far the stream was read is noted when they are on disk; after a
kill in between the same messages are written into files of the same names again. A file that is in the tables is
removed.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.client.errors import ClientError
from pybroker.spark.disk import write_file
from pybroker.spark.pipeline.failure import UNAVAILABLE, FailureError
from pybroker.spark.pipeline.files import SUFFIX, waiting
from pybroker.spark.pipeline.schemas import RAW
from pybroker.spark.stream.contents import contents_of, each_front
from pybroker.spark.stream.places import at
from pybroker.spark.stream_source.streams import link_to

if TYPE_CHECKING:
    from pybroker.spark.stream.chunk import Chunk
    from pybroker.spark.stream.link import Link
    from pybroker.spark.stream.places import Ends
    from pybroker.spark.stream_source.options import StreamOptions

TELEMETRY: Final = "amq.pybroker.telemetry"
STATE: Final = "_next.json"
# Written together; the memory that a run takes is bounded by it.
MESSAGES_MAX: Final = 50_000
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9@_.-]")


class Place(NamedTuple):
    """How far a stream was read: `next` is the offset of the next message, `last` the digest of the one before.

    A node whose data folder is new may give its stream the `id` of the one that was read; its messages are others.
    """

    id: int
    met_ms: int
    next: int
    last: str


class StreamSpool:
    """The files of one stream, in a folder of their own; `tell` gets what people should know."""

    def __init__(self, folder: Path, options: "StreamOptions", tell: Callable[[str], object]) -> None:
        self._folder = folder
        self._options = options
        self._tell = tell
        self._lines: dict[tuple[str, str, str], tuple[int, list[bytes]]] = {}

    def fill(self) -> int:
        """Write what came since the last time; return how many messages. Raises FailureError."""
        stream, count = self._options.stream, 0
        # Of a time that failed: these messages come again.
        self._lines.clear()
        try:
            with link_to(self._options, stream) as link:
                ends = link.ends(stream)
                place = self._place(link, ends)
                if place.next >= ends.next:
                    return 0
                with link.subscribe(stream, at(place.next)) as subscription:
                    for chunk in subscription.until(place.next, ends.next, self._options.poll_timeout_s):
                        bodies, tables = _messages(chunk)
                        self._sort(chunk.first, bodies, tables, place)
                        count += chunk.next - max(place.next, chunk.first)
                        place = place._replace(next=chunk.next, last=_digest(bodies[-1]))
                        rows = sum(len(lines) for _, lines in self._lines.values())
                        if place.next >= ends.next or rows >= MESSAGES_MAX:
                            self._write(place)
        except (ClientError, OSError) as error:
            raise FailureError(f"stream {stream} cannot be read: {error}", UNAVAILABLE) from error
        return count

    def remove_read(self, state: Mapping[str, Any]) -> None:
        """Remove the files whose lines are all in the tables; `state` is the warehouse's."""
        unread = {path for files in waiting(self._folder, state).values() for path in files.paths}
        for path in self._folder.glob(f"*/*{SUFFIX}"):
            if path not in unread:
                path.unlink()

    def _place(self, link: "Link", ends: "Ends") -> Place:
        """Return where to go on: at the beginning of a stream that was not met before."""
        known, stream = self._known(), self._options.stream
        if known is None or known.id != ends.id or known.next > ends.next or not self._is_same(link, ends, known):
            place = Place(ends.id, time.time_ns() // 1_000_000, ends.first, "")
            self._write(place)
            if known is not None:
                self._tell(f"stream {stream} was made anew: it is read from its first message on")
            return place
        if known.next < ends.first:
            self._tell(f"stream {stream} lost messages {known.next} to {ends.first - 1} before they were read")
            return known._replace(next=ends.first, last="")
        return known

    def _is_same(self, link: "Link", ends: "Ends", known: Place) -> bool:
        """Tell whether the last message that was read is there, or cannot be asked for any more."""
        last = known.next - 1
        if not known.last or last < ends.first or known.next >= ends.next:
            return True
        with link.subscribe(self._options.stream, at(last)) as subscription:
            chunk = next(subscription.until(last, known.next, self._options.poll_timeout_s))
        return chunk.first <= last < chunk.next and _digest(_messages(chunk)[0][last - chunk.first]) == known.last

    def _sort(self, first: int, bodies: list[bytes], tables: list[str], place: Place) -> None:
        """Sort the messages of a chunk into files, from a place on."""
        for offset, (body, table) in enumerate(zip(bodies, tables, strict=True), first):
            if offset < place.next or table not in RAW:
                continue
            try:
                row = json.loads(body)
                hour = time.strftime("%Y%m%dT%H", time.gmtime(row["ts"] / 1000))
                key = (table, hour, _UNSAFE.sub("_", row["node"]))
            except (ValueError, TypeError, KeyError, OverflowError):
                continue  # none of the node's
            self._lines.setdefault(key, (offset, []))[1].append(body)

    def _write(self, place: Place) -> None:
        for (table, hour, node), (first, lines) in self._lines.items():
            folder = self._folder / table
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{hour}.{place.met_ms}-{first:020}.{node}{SUFFIX}"
            write_file(folder / name, b"".join([line + b"\n" for line in lines]))
        self._lines.clear()
        self._folder.mkdir(parents=True, exist_ok=True)
        write_file(self._folder / STATE, json.dumps(place._asdict()).encode())

    def _known(self) -> Place | None:
        path = self._folder / STATE
        try:
            return Place(**json.loads(path.read_text())) if path.exists() else None
        except (ValueError, TypeError):
            return None  # rows that are in the tables come again, and are in them once


def _messages(chunk: "Chunk") -> tuple[list[bytes], list[str]]:
    """Return the bodies of a chunk's messages, and of each the table."""
    bodies, groups = contents_of(chunk.messages())
    return bodies, [front.origin.routing_key or "" for front in each_front(groups)]


def _digest(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()
