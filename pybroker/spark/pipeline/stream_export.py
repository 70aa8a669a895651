"""export of a stream: its messages are written to Parquet by this process alone, without Spark.

A file holds consecutive messages, `STREAM-FIRST-LAST.parquet`. It is written under another name, synced and renamed, so
the files tell how far the export is: the same command goes on behind them, and what was cut off is written again under
the same name.
"""

import argparse
import fcntl
import re
import sys
import time
import urllib.parse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from pybroker.client.errors import ClientError
from pybroker.humanize import counted
from pybroker.spark.disk import sync_file, sync_folder
from pybroker.spark.options import stream_source_options
from pybroker.spark.pipeline.failure import BAD_DATA, RUNNING, UNAVAILABLE, FailureError
from pybroker.spark.stream.sub_batch import CannotOpenError
from pybroker.spark.stream_source.offset import DataLossError
from pybroker.spark.stream_source.ranges import Range
from pybroker.spark.stream_source.streams import Streams
from pybroker.spark.values import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.spark.stream.places import Ends
    from pybroker.spark.stream_source.options import StreamOptions

# Of a file. Fewer where fewer have come.
ROWS_MAX: Final = 1_000_000
LOOK_S: Final = 5.0
UNFINISHED: Final = "_unfinished"
LOCK: Final = "_lock"
# In the metadata of a file: the number of the stream, which one that was made anew does not have.
STREAM_ID: Final = b"pybroker.stream_id"
_SPARKS_ADVICE: Final = "a query of Spark's passes over it with failOnDataLoss=false (pybroker-spark(7))"
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
    lock = _lock(folder)
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
        raise FailureError(f"the export failed: {error}; export it to another folder", BAD_DATA) from error
    except CannotOpenError as error:
        raise FailureError(f"the export failed: {error}; {_SPARKS_ADVICE}", BAD_DATA) from error
    except (ClientError, OSError) as error:
        raise FailureError(f"the export failed: {error}", UNAVAILABLE) from error
    finally:
        streams.close()
        lock.close()
    source, what = options.stream or options.super_stream, counted(rows, "message")
    message = f"{what} of {source} {'is' if rows == 1 else 'are'} in {folder}, in {counted(files, 'new file')}"
    return {"result": "ok", "rows": rows, "files": files, "folder": str(folder), "message": message}


def _ranges(ends: "dict[str, Ends]", folder: Path) -> "Iterator[Range]":
    """Yield what is to be written, in files of a bounded size. Raises FailureError if messages are lost in between."""
    done = exported(folder)
    for number, (stream, there) in enumerate(ends.items()):
        start, number_before = done.get(stream, (there.first, there.id))
        if start > there.next or number_before != there.id:
            text = f"{folder} has messages of another stream {stream!r}, up to {start - 1}"
            raise FailureError(f"{text}: it was made anew; export it to another folder", BAD_DATA)
        if start < there.first:
            text = f"stream {stream!r} lost messages {start} to {there.first - 1} before they were exported"
            raise FailureError(f"{text}: export it to another folder", BAD_DATA)
        for first in range(start, there.next, ROWS_MAX):
            yield Range(stream, there.id, number, first, min(first + ROWS_MAX, there.next))


def exported(folder: Path) -> dict[str, tuple[int, int]]:
    """Return of each stream the offset behind the messages that are in files, and its number."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes a moment

    newest: dict[str, tuple[int, Path]] = {}
    for path in folder.iterdir():
        match = _FILE.fullmatch(path.name)
        if match is not None:
            stream = urllib.parse.unquote(match["stream"])
            newest[stream] = max(newest.get(stream, (0, path)), (int(match["last"]) + 1, path))
    return {
        stream: (next_offset, int((pq.read_schema(path).metadata or {}).get(STREAM_ID, b"0")))
        for stream, (next_offset, path) in newest.items()
    }


def _lock(folder: Path) -> BinaryIO:
    """Have the folder for ourselves until the file is closed. Raises FailureError."""
    file = (folder / LOCK).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise FailureError(f"another export into {folder} is running", RUNNING) from None
    return file


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
    columns = to_arrow_schema(schema, timezone="UTC")
    kept = columns.with_metadata({STREAM_ID: str(part.id)})
    with pq.ParquetWriter(unfinished, kept, compression="zstd") as writer:
        for batch in read_range(schema, options, part):
            writer.write_table(pa.Table.from_batches([batch]).cast(kept))
            rows += len(batch)
    sync_file(unfinished)
    unfinished.rename(folder / f"{name}-{part.start:020d}-{part.stop - 1:020d}.parquet")
    sync_folder(folder)
    return rows
