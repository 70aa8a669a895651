"""The node's own stream of telemetry as files like the node's: what reads these makes the same tables of them.

Lines go into `<table>/<hour>.<offset of the first>.<node>.ndjson`. How far the stream was read is noted when they are
on disk; after a kill in between the same messages are written into files of the same names again.
"""

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pybroker.client.errors import ClientError
from pybroker.errors import AmqpError
from pybroker.spark.disk import write_file
from pybroker.spark.pipeline.failure import UNAVAILABLE, FailureError
from pybroker.spark.pipeline.schemas import RAW
from pybroker.spark.stream.places import at
from pybroker.spark.stream_source.streams import link_to
from pybroker.wire.amqp10.to_content import parts_of

if TYPE_CHECKING:
    from pybroker.spark.stream.chunk import Chunk
    from pybroker.spark.stream.subscription import Subscription
    from pybroker.spark.stream_source.options import StreamOptions

TELEMETRY: Final = "amq.pybroker.telemetry"
STATE: Final = "_next.json"
# Written together; the memory that a run takes is bounded by it.
MESSAGES_MAX: Final = 50_000
KEPT_S: Final = 7 * 86_400
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9@_.-]")


class StreamSpool:
    """The files of one stream, in a folder of their own."""

    def __init__(self, folder: Path, options: "StreamOptions") -> None:
        self._folder = folder
        self._options = options
        self._lines: dict[tuple[str, str, str], tuple[int, list[bytes]]] = {}

    def fill(self) -> int:
        """Write what came since the last time; return how many messages. Raises FailureError."""
        stream, count = self._options.stream, 0
        # Of a time that failed: these messages come again.
        self._lines.clear()
        try:
            with link_to(self._options, stream) as link:
                ends = link.ends(stream)
                known = self._known()
                # One of another id was made anew.
                start = known["next"] if known.get("id") == ends.id and known["next"] <= ends.next else 0
                start = max(start, ends.first)
                if start >= ends.next:
                    return 0
                with link.subscribe(stream, at(start)) as subscription:
                    while start < ends.next:
                        chunk = self._next(subscription, start)
                        count += self._take(chunk, start)
                        start = chunk.next
                        if start >= ends.next or sum(len(lines) for _, lines in self._lines.values()) >= MESSAGES_MAX:
                            self._write({"id": ends.id, "next": start})
        except (ClientError, AmqpError, OSError) as error:
            raise FailureError(f"stream {stream} cannot be read: {error}", UNAVAILABLE) from error
        self._expire()
        return count

    def _next(self, subscription: "Subscription", start: int) -> "Chunk":
        chunk = subscription.chunk(self._options.poll_timeout_s)
        if chunk is None:
            raise ClientError(f"message {start} did not come")
        return chunk

    def _take(self, chunk: "Chunk", start: int) -> int:
        """Sort the messages of a chunk into files, from an offset on; return how many that were."""
        bodies, fronts = parts_of(chunk.messages())
        places, table = dict(fronts), ""
        for number, body in enumerate(bodies):
            if number in places:
                table = places[number].origin.routing_key or ""
            offset = chunk.first + number
            if offset < start or table not in RAW:
                continue
            try:
                row = json.loads(body)
                hour = time.strftime("%Y%m%dT%H", time.gmtime(row["ts"] / 1000))
                key = (table, hour, _UNSAFE.sub("_", row["node"]))
            except (ValueError, TypeError, KeyError, OverflowError):
                continue  # none of the node's
            self._lines.setdefault(key, (offset, []))[1].append(body)
        return chunk.next - max(start, chunk.first)

    def _write(self, state: dict[str, Any]) -> None:
        for (table, hour, node), (first, lines) in self._lines.items():
            folder = self._folder / table
            folder.mkdir(parents=True, exist_ok=True)
            write_file(folder / f"{hour}.{first:020}.{node}.ndjson", b"".join([line + b"\n" for line in lines]))
        self._lines.clear()
        self._folder.mkdir(parents=True, exist_ok=True)
        write_file(self._folder / STATE, json.dumps(state).encode())

    def _known(self) -> dict[str, Any]:
        path = self._folder / STATE
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def _expire(self) -> None:
        """Remove files that were read long ago."""
        for path in self._folder.glob("*/*.ndjson"):
            if path.stat().st_mtime < time.time() - KEPT_S:
                path.unlink()
