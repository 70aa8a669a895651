"""Answers that come as things happen: for a time, or until the caller leaves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from pybroker.control.spec import EX_DATAERR, EX_TEMPFAIL, BadArguments, Refused

# How often is looked whether something has come.
PAUSE_S: Final = 0.1
# A year: what is longer may as well be left out.
DURATION_S_MAX: Final = 31_536_000
# At a time: others have the loop between two such batches.
BATCH: Final = 200
# Each keeps a connection of the control socket for as long as its reader likes; operators must find one, too.
STREAMS_MAX: Final = 16

_open: set[object] = set()


def batches(
    poll: Callable[[int], list[Any]], pause: Callable[[float], object], duration_s: int | None
) -> Iterator[list[Any]]:
    """Yield what `poll` gives, BATCH at most at a time, and an empty list whenever it has nothing.

    Raises Refused: STREAMS_MAX readers are there already.
    """
    with reader():
        yield from _batches(poll, pause, duration_s)


@contextmanager
def reader() -> Iterator[None]:
    """Count a reader that stays until it leaves. Raises Refused: STREAMS_MAX are there already."""
    if len(_open) >= STREAMS_MAX:
        raise Refused(
            f"{STREAMS_MAX} readers of the node's log, events and streams are the maximum; stop one of them",
            EX_TEMPFAIL,
        )
    stream = object()
    _open.add(stream)
    try:
        yield
    finally:
        _open.discard(stream)


def _batches(
    poll: Callable[[int], list[Any]], pause: Callable[[float], object], duration_s: int | None
) -> Iterator[list[Any]]:
    left = None if duration_s is None else round(duration_s / PAUSE_S)
    while True:
        found = poll(BATCH)
        yield found
        if len(found) == BATCH:
            continue
        if left is not None:
            if not left:
                return
            left -= 1
        pause(PAUSE_S)


def check_duration(duration_s: int | None) -> None:
    """Refuse a time that cannot be. Raises BadArguments."""
    if duration_s is not None and not 0 < duration_s <= DURATION_S_MAX:
        raise BadArguments(f"Bad argument: --duration must be from 1 to {DURATION_S_MAX} seconds", EX_DATAERR)


def banner(duration_s: int | None) -> str:
    """Return rabbitmq-diagnostics' banner."""
    return "Streaming logs from node {node} " + ("..." if duration_s is None else f"for {duration_s} seconds ...")
