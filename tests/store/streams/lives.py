"""One life of a stream's log, and a world of several: the message at each offset is known, so is what must be there."""

import random
from functools import cache

from pybroker.run import Run
from pybroker.store.streams.folder import STREAMS, folder_name
from pybroker.store.streams.format import Chunk
from pybroker.store.streams.recovery import recover
from pybroker.store.streams.stream_log import StreamLog
from tests.entries import bodies_of, entries_run
from tests.inline_worker import InlineWorker
from tests.store.records import run_of

STREAM = 7
# Of a stream of many segments.
MESSAGES = 90
# The journal's seq of the message at an offset is this much higher, its time a tenth of it.
SEQS_AHEAD = 1_000
START_MS = 1_700_000_000_000
SEGMENT_OCTETS = 3_000
LARGE_FROM = 50
# Of so many messages two are lost before they reach the files; 0: none.
GAP_EVERY = 0
# A chunk has entries of the stream protocol if its offset can be divided by this; 0: none has.
ENTRIES_EVERY = 3
# Of chunks, by their offset: one of which nothing is known, one without filter values, and others.
BLOOMS = (None, b"", bytes(range(16)), bytes(range(40)))


def body(offset: int) -> bytes:
    """Return the body of the message at this offset: a few octets, now and then some, from 50 on also many."""
    return _body(offset, offset >= LARGE_FROM)


@cache
def _body(offset: int, large: bool) -> bytes:
    rng = random.Random(offset)
    return b"%d:" % offset + rng.randbytes(
        rng.choice((0, 0, 5, 5, 5, 40, 40, 40, 40, 40, 40, 300, 6_000 if large else 300))
    )


def timestamp(offset: int) -> int:
    """Return when it was published."""
    return START_MS + offset // 10


def chunk(offset: int, count: int) -> Chunk:
    """Return the messages from an offset on."""
    bodies = [body(offset + at) for at in range(count)]
    run = run_of(bodies, offset)
    if ENTRIES_EVERY and offset % ENTRIES_EVERY == 0:
        run = entries_run(offset, *bodies)
        run.timestamp_ms = timestamp(offset)
    return Chunk(run, offset + count - 1 + SEQS_AHEAD, timestamp(offset), BLOOMS[offset % len(BLOOMS)])


def kept(offset: int) -> int:
    """Return the first offset from this one on that is not among those that are lost, if any are."""
    while GAP_EVERY and offset % GAP_EVERY in {1, 2}:
        offset += 1
    return offset


def chunks(offset: int, *counts: int) -> list[Chunk]:
    """Return chunks of so many messages each, less in front of a gap."""
    made = []
    for count in counts:
        offset = kept(offset)
        if GAP_EVERY:
            count = min(count, -offset % GAP_EVERY + 1)
        made.append(chunk(offset, count))
        offset += count
    return made


def contents(runs: list[Run], first: int = 0) -> dict[int, bytes]:
    """Return the bodies of messages that were read from an offset on, by offset; no offset comes twice."""
    found: dict[int, bytes] = {}
    for run in runs:
        for at, each in enumerate(bodies_of(run), run.first_seq):
            assert at not in found
            if at >= first:
                found[at] = each
    return found


def expected(first: int, stop: int) -> dict[int, bytes]:
    """Return what must be there."""
    return {offset: body(offset) for offset in range(first, stop) if kept(offset) == offset}


class Life:
    """A stream's log from a start on; its workers work when they are told to."""

    def __init__(self, disk, stream_id=STREAM, committed_seq=None, writer=None, remover=None):
        self.disk = disk
        self.writer = InlineWorker() if writer is None else writer
        self.reader = InlineWorker()
        self.log = StreamLog(disk, self.writer, self.reader, recover(disk, stream_id, committed_seq), remover)
        self.damages = []
        self.log.on_damage = self.damages.append

    @property
    def folder(self):
        """Return the folder of the stream."""
        return self.disk.folder(STREAMS).folder(folder_name(STREAM))

    def run(self):
        """Have both workers work until there is nothing to do."""
        while len(self.writer) or len(self.reader):
            self.writer.run()
            self.reader.run()

    def append(self, *counts, segment_octets=SEGMENT_OCTETS):
        """Append chunks of so many messages; return what `done` got."""
        answers = []
        self.log.append(chunks(self.log.next_offset, *counts), segment_octets, answers.append)
        self.run()
        (answer,) = answers
        return answer

    def fill(self, messages, count=5, segment_octets=SEGMENT_OCTETS):
        """Append that many messages, so many in a chunk, a few chunks at a time."""
        while self.log.next_offset < messages:
            assert self.append(*[count] * 3, segment_octets=segment_octets) is None

    def ask(self, name, *arguments):
        """Call a method of the log that ends with `done`; return what that got."""
        answers = []
        getattr(self.log, name)(*arguments, answers.append)
        self.run()
        (answer,) = answers
        return answer

    def read(self, offset=0, octets=1_000):
        """Return all messages from an offset on, in the order in which they came."""
        found = {}
        while runs := self.ask("read", offset, octets):
            assert not isinstance(runs, BaseException), runs
            part = contents(runs, max(offset, self.log.first_offset))
            assert not found.keys() & part.keys()
            assert list(part) == sorted(part)
            found |= part
            offset = max(part) + 1
        return found

    def check(self):
        """See that exactly the messages are there that the numbers promise."""
        log = self.log
        assert self.read() == expected(log.first_offset, log.next_offset)
        if log.next_offset:
            last = log.next_offset - 1
            while kept(last) != last:
                last -= 1
            assert log.last_seq == last + SEQS_AHEAD


def segment_files(folder):
    """Return the names of the segments."""
    return [name for name in folder.names() if name.endswith(".log")]
