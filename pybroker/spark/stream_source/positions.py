"""Positions: where a query begins or ends, as its options say it, and the offset that this is in each stream."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.spark.stream.places import Ends, since
from pybroker.spark.values import OptionError

if TYPE_CHECKING:
    from pybroker.spark.stream.link import Link

EARLIEST: Final = -2
LATEST: Final = -1

_STARTS: Final = {"earliest": EARLIEST, "first": EARLIEST, "latest": LATEST, "next": LATEST}
_STOPS: Final = {"latest": LATEST, "next": LATEST}
_NUMBER_MAX: Final = (1 << 63) - 1


class Position(NamedTuple):
    """An offset, or a time in ms of wall time: for all streams, or for each by its name; `option` is what said so."""

    everywhere: int | None
    streams: Mapping[str, int]
    is_time: bool
    option: str = ""

    def of(self, stream: str) -> int:
        """Return what it is for a stream. Raises OptionError if it does not say."""
        if self.everywhere is not None:
            return self.everywhere
        if stream not in self.streams:
            raise OptionError(
                self.option, f"does not name stream {stream!r}: all that the query reads have to be there"
            )
        return self.streams[stream]


def at_start(value: str) -> Position:
    """Return where to begin: earliest, latest, or JSON. Raises ValueError."""
    return _read(value, _STARTS, EARLIEST)


def at_end(value: str) -> Position:
    """Return where to end: latest, or JSON. Raises ValueError."""
    return _read(value, _STOPS, LATEST)


def by_time(timestamp_ms: int) -> Position:
    """Return the position of a time, in all streams."""
    return Position(timestamp_ms, {}, is_time=True)


def by_stream(value: str) -> Position:
    """Return times by the names of streams. Raises ValueError."""
    return Position(None, _numbers(value, 0), is_time=True)


def _read(value: str, words: Mapping[str, int], least: int) -> Position:
    word = words.get(value.strip().lower())
    if word is not None:
        return Position(word, {}, is_time=False)
    if not value.lstrip().startswith("{"):
        raise ValueError(f'is {", ".join(words)} or JSON such as {{"orders-0": 23}}, not {value!r}')
    return Position(None, _numbers(value, least), is_time=False)


def _numbers(value: str, least: int) -> dict[str, int]:
    try:
        found = json.loads(value)
    except ValueError as error:
        raise ValueError(f"is no JSON: {error}") from None
    if not isinstance(found, dict) or not found:
        raise ValueError('is an object of streams and numbers, such as {"orders-0": 23}')
    for stream, given in found.items():
        if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= _NUMBER_MAX:
            raise ValueError(f"has {given!r} for {stream!r}: an integer from {least} on is needed")
    return found


def check_names(position: Position | None, streams: Iterable[str]) -> None:
    """Raise OptionError if a position names a stream that the query does not read."""
    known = set(streams)
    if position is None:
        return
    for name in position.streams:
        if name not in known:
            raise OptionError(
                position.option, f"names {name!r}, which is none of the streams {', '.join(sorted(known))}"
            )


def resolve(
    position: Position, stream: str, link: Callable[[], "Link"], ends: Ends, *, late_is_error: bool = False
) -> int:
    """Return the offset of a position in a stream that goes so far; it is never outside of it.

    Raises OptionError for a time behind the last message if that is an error; what `Link` raises.
    """
    number = position.of(stream)
    if position.is_time:
        found = link().resolve(stream, since(number)) if ends.first < ends.next else ends.next
        if found >= ends.next and late_is_error:
            text = f"is {number}: stream {stream!r} has no message of that time or later"
            raise OptionError(
                position.option, f"{text}; startingOffsetsByTimestampStrategy=latest begins with the next one"
            )
    elif number in (EARLIEST, LATEST):
        return ends.first if number == EARLIEST else ends.next
    else:
        found = number
    return min(max(found, ends.first), ends.next)
