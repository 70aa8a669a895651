"""The folder between a queue and Spark: messages lie there from before their acknowledgement until their batch is done.

A segment is an Arrow file whose number is Spark's offset. It appears whole or not at all, and its messages are
acknowledged only after it did:

    write NUMBER.tmp - fsync - rename to NUMBER.arrow - fsync the folder - basic.ack - (Spark's commit) - unlink

Killed before the rename, the broker still has the messages and delivers them again, flagged redelivered. Killed between
rename and ack they are here and come once more, flagged. After the ack they are here only, and a replay of a batch
reads the same segments.
"""

import errno
import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

from pybroker.spark.disk import sync_file, sync_folder, write_file
from pybroker.spark.parse.raw import SCHEMA

_DIGITS: Final = 12
_SUFFIX: Final = ".arrow"
_UNFINISHED: Final = ".tmp"
_LOCK: Final = "drainer.lock"
_SOURCE: Final = "source.json"
_POLL_S: Final = 0.1
_ID_DIGITS: Final = 16


class SpoolError(Exception):
    """The spool is another's, in use, or not what the query left there."""


class Spool:
    """One query's segments. Only one process at a time holds it open; readers of segments need only their paths.

    `source` says what they are of, e.g. {"queue": "orders"}: a folder keeps to the one that claimed it. `id` is the
    folder's own, and stands in the offsets of the query; "" until the folder is claimed, or if it is an old one.
    `redelivered` counts the messages written that the broker had delivered before.
    """

    def __init__(self, folder: str, source: dict[str, str]) -> None:
        self.folder = Path(folder)
        self.is_claimed = False
        self.redelivered = 0
        self.id = ""
        self._source = source
        self._lock: int | None = None

    def open(self, timeout_s: float) -> None:
        """Take the folder for this process, clean up after a killed one. Raises SpoolError, OSError.

        A query that was killed may have left its drainer behind for a moment, so this waits a while.
        """
        if self._lock is not None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = self._take_lock(timeout_s)
        try:
            self._check_source()
            for unfinished in self.folder.glob(f"*{_UNFINISHED}"):
                unfinished.unlink()
        except BaseException:
            self.close()
            raise

    def belong_to(self, id_: str) -> None:
        """Check that the folder is the one of this id; one that nobody has claimed will get it. Raises SpoolError."""
        if not self.is_claimed:
            self.id = id_
        elif id_ not in ("", self.id):
            text = f"spoolLocation {self.folder} is the spool {self.id or 'of an older version'}"
            raise SpoolError(f"{text}, the checkpoint's is {id_}: use the two that belong together")

    def claim(self) -> None:
        """Note whose folder it is from now on. Twice is no error. Raises OSError."""
        assert self._lock is not None
        if self.is_claimed:
            return
        self.id = self.id or uuid.uuid4().hex[:_ID_DIGITS]
        text = json.dumps(self._source | {"id": self.id}, sort_keys=True)
        write_file(self.folder / _SOURCE, text.encode() + b"\n")
        self.is_claimed = True

    def close(self) -> None:
        """Let others take the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def numbers(self) -> list[int]:
        """Return the numbers of all segments, lowest first."""
        names = [path.stem for path in self.folder.iterdir() if path.suffix == _SUFFIX]
        return sorted(int(name) for name in names if len(name) == _DIGITS and name.isdecimal())

    def path(self, number: int) -> Path:
        """Return where the segment is, or would be."""
        return self.folder / f"{number:0{_DIGITS}d}{_SUFFIX}"

    def write(self, number: int, batches: Iterable[pa.RecordBatch]) -> int:
        """Write a segment that survives a power cut when this returns; return how many messages it has.

        None is made of no messages. If `batches` raises, nothing is left behind. Raises OSError.
        """
        self.claim()
        assert not self.path(number).exists()
        unfinished = self.folder / f"{number:0{_DIGITS}d}{_UNFINISHED}"
        rows = redelivered = 0
        try:
            # Arrow writes by itself, without a copy through a file object of Python's
            with pa.OSFile(str(unfinished), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
                for batch in batches:
                    writer.write_batch(batch)
                    rows += len(batch)
                    redelivered += batch.column("redelivered").true_count
            if rows:
                sync_file(unfinished)
                unfinished.rename(self.path(number))
                sync_folder(self.folder)
                self.redelivered += redelivered
        finally:
            unfinished.unlink(missing_ok=True)
        return rows

    def rows(self, number: int) -> int:
        """Return how many messages a segment has. Raises SpoolError, OSError."""
        return sum(len(batch) for batch in read_segment(str(self.path(number))))

    def octets(self, number: int) -> int:
        """Return how long a segment is, 0 if it is missing: its reader reports that. Raises OSError."""
        try:
            return self.path(number).stat().st_size
        except FileNotFoundError:
            return 0

    def remove(self, up_to: int) -> None:
        """Remove the segments up to a number. Raises OSError."""
        for number in self.numbers():
            if number <= up_to:
                self.path(number).unlink(missing_ok=True)

    def _take_lock(self, timeout_s: float) -> int:
        lock = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES) or time.monotonic() > deadline:
                    os.close(lock)
                    if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                        raise
                    text = f"spoolLocation {self.folder} is in use by another query: each query needs its own folder"
                    raise SpoolError(text) from None
                time.sleep(_POLL_S)
            else:
                return lock

    def _check_source(self) -> None:
        """Refuse a folder that has another queue's messages. Raises SpoolError, OSError."""
        try:
            claimed = json.loads((self.folder / _SOURCE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        self.id = claimed.pop("id", "")
        if claimed != self._source:
            text = f"spoolLocation {self.folder} has messages of {describe(claimed)}, not of {describe(self._source)}"
            raise SpoolError(text)
        self.is_claimed = True


def describe(source: dict[str, str]) -> str:
    """Return a source in words, of a folder or of an offset."""
    return f"queue {source.get('queue')!r} in virtual host {source.get('virtual_host')!r}"


def read_segment(path: str) -> Iterator[pa.RecordBatch]:
    """Yield a segment's raw batches. Raises SpoolError if it is not there, or not whole."""
    try:
        with pa.memory_map(path) as file:
            reader = pa.ipc.open_file(file)
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)
    except FileNotFoundError:
        text = f"{path} is missing: its messages were acknowledged, so the batch cannot be repeated without it"
        raise SpoolError(text) from None
    except pa.ArrowInvalid as error:
        raise SpoolError(f"{path} is damaged: {error}") from None
