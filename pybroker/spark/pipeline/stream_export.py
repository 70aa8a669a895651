"""export of a stream: its messages are written to Parquet by this process alone, without Spark.

A file holds consecutive messages, `STREAM-FIRST-LAST.parquet`. It is written under another name, synced and renamed, so
the files tell how far the export is: the same command goes on behind them, and what was cut off is written again under
the same name.
"""

import argparse
import os
import re
import sys
import time
import urllib.parse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pybroker.client.errors import ClientError
from pybroker.spark.options import stream_source_options
from pybroker.spark.pipeline.failure import BAD_DATA, UNAVAILABLE, FailureError
from pybroker.spark.stream_source.offset import DataLossError
from pybroker.spark.stream_source.ranges import Range
from pybroker.spark.stream_source.streams import Streams
from pybroker.spark.values import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.spark.stream.link import Ends
    from pybroker.spark.stream_source.options import StreamOptions

# Of a file. Fewer where fewer have come.
ROWS_MAX: Final = 1_000_000
LOOK_S: Final = 5.0
UNFINISHED: Final = "_unfinished"
_FILE: Final = re.compile(r"(?P<stream>.+)-(?P<first>\d{20})-(?P<last>\d{20})\.parquet")


def stream_options(given: argparse.Namespace) -> "StreamOptions":
    """Return the connector's options. Raises FailureError."""
    names = {"stream": given.stream, "superStream": given.super_stream, "streamPort": given.stream_port}
    names |= {"virtualHost": given.vhost, "host": given.host, "username": given.username}
    names |= {"passwordFile": given.password_file, "uriFile": given.uri_file}
    options = {name: str(value) for name, value in names.items() if value is not None}
    try:
        return stream_source_options(options | {"includeProperties": "true", "headersFormat": "map"}, streaming=False)
    except OptionError as error:
        raise FailureError(str(error)) from None


def export(given: argparse.Namespace) -> dict[str, Any]:
    """Write what comes until it is ended, or what is there now. Raises FailureError."""
    options = stream_options(given)
    if not all(map(find_spec, ("pyarrow", "pyspark"))):  # of Spark the names of types alone
        text = "the export needs pyarrow and pyspark, but no Java: pip install 'pybroker[spark]'"
        raise FailureError(text, UNAVAILABLE)
    folder = Path(given.to).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    streams = Streams(options)
    rows = files = 0
    try:
        while True:
            for part in _ranges(streams.ends(), folder):
                rows += write(folder, options, part)
                files += 1
                if not given.quiet:
                    sys.stderr.write(f"{part.stream}: messages {part.start} to {part.stop - 1}\n")
            if given.available_now:
                break
            time.sleep(LOOK_S)
    except DataLossError as error:
        raise FailureError(f"the export failed: {error}", BAD_DATA) from error
    except (ClientError, OSError) as error:
        raise FailureError(f"the export failed: {error}", UNAVAILABLE) from error
    finally:
        streams.close()
    message = f"{rows} messages of {options.stream or options.super_stream} are in {folder}, in {files} new files"
    return {"result": "ok", "rows": rows, "files": files, "folder": str(folder), "message": message}


def _ranges(ends: "dict[str, Ends]", folder: Path) -> "Iterator[Range]":
    """Yield what is to be written, in files of a bounded size. Raises FailureError if messages are lost in between."""
    done = exported(folder)
    for number, (stream, there) in enumerate(ends.items()):
        start = done.get(stream, there.first)
        if start > there.next:
            text = f"{folder} has messages of stream {stream!r} up to {start - 1}, which ends with {there.next - 1}"
            raise FailureError(f"{text}: it was made anew; export it to another folder", BAD_DATA)
        if start < there.first:
            text = f"stream {stream!r} lost messages {start} to {there.first - 1} before they were exported"
            raise FailureError(f"{text}: export it to another folder", BAD_DATA)
        for first in range(start, there.next, ROWS_MAX):
            yield Range(stream, there.id, number, first, min(first + ROWS_MAX, there.next))


def exported(folder: Path) -> dict[str, int]:
    """Return of each stream the offset behind the messages that are in files."""
    found: dict[str, int] = {}
    for path in folder.iterdir():
        match = _FILE.fullmatch(path.name)
        if match is not None:
            stream = urllib.parse.unquote(match["stream"])
            found[stream] = max(found.get(stream, 0), int(match["last"]) + 1)
    return found


def write(folder: Path, options: "StreamOptions", part: Range) -> int:
    """Write a range as a file that survives a power cut when this returns; return how many messages it has.

    Raises DataLossError, ClientError, OSError.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes a moment, as the next ones
    import pyarrow.parquet as pq  # noqa: PLC0415
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    from pybroker.spark.parse.columns import stream_schema  # noqa: PLC0415
    from pybroker.spark.stream_source.reading import read_range  # noqa: PLC0415

    schema = stream_schema(options)
    name = urllib.parse.quote(part.stream, safe="")
    unfinished = folder / f"{UNFINISHED}-{name}"
    rows = 0
    with pq.ParquetWriter(unfinished, to_arrow_schema(schema, timezone="UTC"), compression="zstd") as writer:
        for batch in read_range(schema, options, part):
            writer.write_table(pa.Table.from_batches([batch]))
            rows += len(batch)
    _sync(unfinished, os.O_RDONLY)
    unfinished.rename(folder / f"{name}-{part.start:020d}-{part.stop - 1:020d}.parquet")
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)
    return rows


def _sync(path: Path, flags: int) -> None:
    opened = os.open(path, flags)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
