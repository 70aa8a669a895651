"""Browse of a stream, as `queue/browse` browses a queue: a window at a time, and others go on between two of them.

Messages that come later than the browse began are not shown.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from pybroker.core.queue.browse.browsed import READY, Browsed
from pybroker.entries_run import EntriesRun

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from pybroker.core.queue.browse.peek import Wish
    from pybroker.core.stream.facts import StreamFacts
    from pybroker.run import Run

# Read at a time; backwards about so much, and no more messages than this.
WINDOW_OCTETS: Final = 1_048_576
WINDOW_MESSAGES: Final = 256
# Between two looks whether the disk has answered.
PAUSE_S: Final = 0.001


def browse(stream: "StreamFacts", wish: "Wish", pause: "Callable[[float], object]") -> "Iterator[Browsed | None]":
    """Yield the messages from where the wish begins; None tells that others went on, or that the disk has to answer.

    A message that cannot be read is left out; the log tells why. Offsets are seqs here.
    """
    if READY not in wish.states:
        return
    start, end = wish.start, stream.next_offset
    if wish.newest_first or start == "tail":
        before = end if isinstance(start, str) else min(end, start[1] + 1)
        yield from _backwards(stream, before, pause)
        return
    offset = stream.first_offset if isinstance(start, str) else max(start[1], 0)
    while offset < end and not stream.deleted:
        runs = yield from _read(stream, offset, pause)
        if not runs:
            # More may be in memory, behind what is damaged on disk.
            offset = next((piece.offset for piece in stream.pieces if piece.offset > offset), end)
        yield from messages_of(stream, runs, max(offset, stream.first_offset), end)
        offset = behind(runs, offset)
        yield None


def _backwards(stream: "StreamFacts", before: int, pause: "Callable[[float], object]") -> "Iterator[Browsed | None]":
    while before > stream.first_offset and not stream.deleted:
        mean = max(1, stream.octets // max(1, stream.messages))
        first = max(stream.first_offset, before - max(1, min(WINDOW_MESSAGES, WINDOW_OCTETS // mean)))
        found: deque[Browsed] = deque()
        offset = first
        while offset < before:
            runs = yield from _read(stream, offset, pause)
            found.extendleft(messages_of(stream, runs, max(offset, stream.first_offset), before))
            offset = behind(runs, offset)
            if not runs:
                break
        yield from found
        before = first
        yield None


def _read(stream: "StreamFacts", offset: int, pause: "Callable[[float], object]") -> "Generator[None, None, list[Run]]":
    """Return runs from there on, none if there are no more, or they cannot be read."""
    found = yield from read(stream, offset, pause)
    if isinstance(found, BaseException):
        stream.reading_failed(found)
        return []
    return found


def read(
    stream: "StreamFacts", offset: int, pause: "Callable[[float], object]"
) -> "Generator[None, None, list[Run] | BaseException]":
    """Return runs from there on, none if there are no more, or why they cannot be read."""
    answers: list[list[Run] | BaseException] = []
    stream.read(offset, WINDOW_OCTETS, answers.append)
    while not answers:
        if stream.deleted:
            return []
        pause(PAUSE_S)
        yield None
    return answers[0]


def messages_of(stream: "StreamFacts", runs: "list[Run]", first: int, stop: int) -> "Iterator[Browsed]":
    """Yield the messages of runs that have one of these offsets; entries as contents, but for those nobody can open."""
    for run in runs:
        if isinstance(run, EntriesRun):
            offset, end = max(first, run.first_seq), min(stop, run.first_seq + run.count)
            while offset < end:
                part = stream.streams.conversion.contents(stream, run, offset)
                yield from messages_of(stream, part.runs, offset, end)
                offset = part.stop
            continue
        for index in range(max(0, first - run.first_seq), min(run.count, stop - run.first_seq)):
            yield Browsed(0, run, index, 0)


def behind(runs: "list[Run]", offset: int) -> int:
    """Return the offset behind all runs, `offset` if there are none."""
    return max([offset, *(run.first_seq + run.count for run in runs)])
