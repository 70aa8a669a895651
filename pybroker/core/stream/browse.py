"""Browse of a stream, as `queue/browse` browses a queue: a window at a time, and others go on between two of them.

Messages that come later than the browse began are not shown.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

from pybroker.core.queue.browse.browsed import READY, Browsed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from pybroker.core.queue.browse.peek import Wish
    from pybroker.core.stream.stream import Stream
    from pybroker.run import Run

# Read at a time; backwards about so much, and no more messages than this.
WINDOW_OCTETS: Final = 1_048_576
WINDOW_MESSAGES: Final = 256
# Between two looks whether the disk has answered.
PAUSE_S: Final = 0.001


def browse(stream: "Stream", wish: "Wish", pause: "Callable[[float], object]") -> "Iterator[Browsed | None]":
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
        for run in runs:
            for index in range(max(0, offset - run.first_seq), min(run.count, end - run.first_seq)):
                yield Browsed(0, run, index, 0)
            offset = max(offset, run.first_seq + run.count)
        yield None


def _backwards(stream: "Stream", before: int, pause: "Callable[[float], object]") -> "Iterator[Browsed | None]":
    while before > stream.first_offset and not stream.deleted:
        mean = max(1, stream.octets // max(1, stream.messages))
        first = max(stream.first_offset, before - max(1, min(WINDOW_MESSAGES, WINDOW_OCTETS // mean)))
        found: deque[Browsed] = deque()
        offset = first
        while offset < before:
            runs = yield from _read(stream, offset, pause)
            for run in runs:
                for index in range(max(0, offset - run.first_seq), min(run.count, before - run.first_seq)):
                    found.appendleft(Browsed(0, run, index, 0))
                offset = max(offset, run.first_seq + run.count)
            if not runs:
                break
        yield from found
        before = first
        yield None


def _read(stream: "Stream", offset: int, pause: "Callable[[float], object]") -> "Generator[None, None, list[Run]]":
    """Return runs from there on, none if there are no more, or they cannot be read."""
    answers: list[list[Run] | BaseException] = []
    stream.read(offset, WINDOW_OCTETS, answers.append)
    while not answers:
        pause(PAUSE_S)
        yield None
    found = answers[0]
    if isinstance(found, BaseException):
        stream.reading_failed(found)
        return []
    return found
