"""Arguments of commands that show messages: the begin, which of them are wanted, and how they are shown."""

from typing import TYPE_CHECKING, Annotated, Final

from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Refused

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue

FORMATS: Final = ("text", "json", "ndjson", "raw", "table", "pretty_table", "csv")
# Shown of a body, unless asked otherwise, and at most: all that is shown passes through memory.
BODY_SIZE: Final = 1_024
BODY_SIZE_MAX: Final = 16_777_216
# A seq is a number of 64 bits in the log.
SEQ_MAX: Final = (1 << 63) - 1
PRIORITY_MAX: Final = 255

FormatArg = Annotated[
    str | None,
    Arg(
        "text (default), json (an array), ndjson (an object per line), raw (bodies as published), or table, "
        "pretty_table or csv (one row per message)",
        "--format --formatter",
        "format",
        FORMATS,
    ),
]
WhereArg = Annotated[
    tuple[str, ...],
    Arg(
        "only messages with this header, as HEADER=VALUE; if repeated, with all of them",
        "--where --header",
        "header=value",
    ),
]
MatchArg = Annotated[str, Arg("only messages with this text in body, properties or routing key", "--match", "text")]
BodySizeArg = Annotated[
    int, Arg(f"octets of each body that are shown (default: {BODY_SIZE}); longer ones are cut", "--body-size", "octets")
]


def check_body_size(octets: int) -> None:
    """Refuse a size that cannot be. Raises BadArguments."""
    if not 0 <= octets <= BODY_SIZE_MAX:
        raise BadArguments(f"Bad argument: --body-size must be from 0 to {BODY_SIZE_MAX}", EX_DATAERR)


def check_count(count: int, most: int) -> None:
    """Refuse a number of messages that cannot be. Raises BadArguments."""
    if not 0 < count <= most:
        raise BadArguments(f"Bad argument: --count must be from 1 to {most}", EX_DATAERR)


def conditions(words: tuple[str, ...], option: str = "--where") -> list[tuple[str, str]]:
    """Return headers and their values from HEADER=VALUE. Raises BadArguments."""
    found = []
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise BadArguments(f"Bad argument: {option}: expected HEADER=VALUE, not '{word}'", EX_DATAERR)
        found.append((name, value))
    return found


def position(word: str) -> str | tuple[int | None, int]:
    """Return `head`, `tail`, or a priority and a seq from SEQ or PRIORITY:SEQ. Raises BadArguments."""
    if word in {"head", "tail"}:
        return word
    priority, colon, seq = word.rpartition(":")
    numbers = [seq, priority] if colon else [seq]
    if all(number.isascii() and number.isdigit() and len(number) < 20 for number in numbers):
        place = (int(priority) if colon else None, int(seq))
        if place[1] <= SEQ_MAX and (place[0] or 0) <= PRIORITY_MAX:
            return place
    raise BadArguments(f"Bad argument: --from must be head, tail, SEQ or PRIORITY:SEQ, not '{word}'", EX_DATAERR)


def start_in(queue: "Queue", place: str | tuple[int | None, int]) -> str | tuple[int, int]:
    """Return where to begin in this queue. Raises Refused: it has priorities, and a seq alone is no place in it."""
    if isinstance(place, str):
        return place
    priority, seq = place
    if priority is None and queue.backlog.priority_max:
        text = f"queue '{queue.name}' has priorities: give the position as PRIORITY:SEQ, as peek_messages shows it"
        raise Refused(text)
    return (priority or 0, seq)
