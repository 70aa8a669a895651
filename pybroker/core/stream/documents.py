"""Documents: messages of a stream for operators, from an offset on, also those that come. It touches nothing.

A window of them at a time is read, as `browse` does. Messages that retention or `truncate` takes away meanwhile are
passed over.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.queue.browse.filter import Filter
from pybroker.core.queue.browse.shown import Shown
from pybroker.core.stream.browse import behind, messages_of, read
from pybroker.core.stream.filter import Filters
from pybroker.entries_run import EntriesRun
from pybroker.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from pybroker.core.queue.browse.browsed import Browsed
    from pybroker.core.stream.facts import StreamFacts
    from pybroker.run import Run


# Between two looks whether messages have come.
FOLLOW_PAUSE_S: Final = 0.1
# Messages looked at until the caller is asked whether it is there still, though nothing was found.
LOOKED_AT_MAX: Final = 256
# A stream keeps the order of its messages, and takes none back: these say nothing of them.
_LEFT_OUT: Final = frozenset({"seq", "position", "priority", "state", "redelivered", "deliveries", "expires_at"})


class Wanted(NamedTuple):
    """Messages wanted: from `start` on and before `stop`, how many at most, which ones, and how much of each body.

    Without `stop` those are meant that are there now; with `follow` also those that come, for ever. `values` are those
    of the header x-stream-filter-value, of which a message must have one, or its chunk if that was given beside it.
    """

    start: int
    stop: int | None = None
    messages_max: int | None = None
    values: "Collection[str]" = ()
    headers: "Collection[tuple[str, str]]" = ()
    body_octets_max: int = 1_024
    raw: bool = False
    follow: bool = False


def documents(
    stream: "StreamFacts", wanted: Wanted, pause: "Callable[[float], object]"
) -> "Iterator[list[dict[str, Any]]]":
    """Yield the messages as documents, some at a time, or none where others have to go on.

    `pause` is called with 0 for each message that is looked at, and decides itself when it is time for others. Raises
    InternalError: the disk fails.
    """
    passing = Filter(wanted.headers)
    shown = Shown(stream, wanted.body_octets_max, raw=wanted.raw)
    left, looked_at = wanted.messages_max, 0
    for message in _messages(stream, wanted, pause):
        if message is not None:
            looked_at += 1
            if passing.matches(message):
                left = None if left is None else left - 1
                for batch in shown.add(message):
                    yield [_document(one) for one in batch]
            pause(0)
        if left == 0:
            break
        if message is None or looked_at >= LOOKED_AT_MAX:
            yield [_document(one) for one in shown.hand_over()]
            looked_at = 0
    yield [_document(one) for one in shown.hand_over()]


def _document(one: dict[str, Any]) -> dict[str, Any]:
    """Return a document of a message as one of a stream; a part of a body stays what it is."""
    if "body_part" in one:
        return one
    return {"offset": one["seq"], **{name: value for name, value in one.items() if name not in _LEFT_OUT}}


def _messages(stream: "StreamFacts", wanted: Wanted, pause: "Callable[[float], object]") -> "Iterator[Browsed | None]":
    """Yield the messages; None tells that others went on, or that there is nothing to be read yet."""
    offset = wanted.start
    stop = stream.next_offset if wanted.stop is None and not wanted.follow else wanted.stop
    filters = Filters(frozenset(wanted.values), unfiltered=False) if wanted.values else None
    while not stream.deleted:
        end = stream.next_offset if stop is None else min(stop, stream.next_offset)
        if offset >= end:
            if not wanted.follow or (stop is not None and offset >= stop):
                return
            yield None
            pause(FOLLOW_PAUSE_S)
            continue
        found = yield from read(stream, offset, pause)
        if isinstance(found, BaseException):
            raise InternalError(f"{stream!r} cannot be read: {found}")
        first = max(offset, stream.first_offset)
        if filters is None:
            yield from messages_of(stream, found, first, end)
        else:
            yield from _matching(stream, found, range(first, end), filters, pause)
        # Without any, more may be in memory, behind what is damaged on disk.
        in_memory = (piece.offset for piece in stream.pieces if piece.offset > offset)
        offset = behind(found, offset) if found else next(in_memory, end)
        pause(0)
        yield None


def _matching(
    stream: "StreamFacts",
    found: "list[Run]",
    offsets: range,
    filters: Filters,
    pause: "Callable[[float], object]",
) -> "Iterator[Browsed | None]":
    """Yield the messages of runs with these offsets that pass; None tells that others went on."""
    passed_over = 0
    for run in found:
        # Messages may have the header though no value was given beside them.
        if isinstance(run, EntriesRun) and run.bloom and not filters.may_match(run.bloom):
            continue
        mine = filters.of_chunk(run)
        for message in messages_of(stream, [run], offsets.start, offsets.stop):
            if mine.matches(message.content):
                yield message
                continue
            pause(0)
            passed_over += 1
            if passed_over % LOOKED_AT_MAX == 0:
                yield None
