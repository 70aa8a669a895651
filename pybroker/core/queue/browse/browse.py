"""Browse: read a queue's messages in the order of their delivery, without touching anything.

A window of them at a time is found and, if it is on disk, read; others go on between two windows, and the next window
is found by the place of the last message. So messages that leave meanwhile may be shown or not, none is shown twice,
and none that stays is missed. Messages that come later than the browse began are not shown. From the second window on
the next one is read while one is gone through: memory holds two windows, or one of large bodies.
"""

from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from pybroker.core.queue.browse import window
from pybroker.core.queue.browse.browsed import READY, Browsed
from pybroker.core.queue.browse.window import Found, Place
from pybroker.seq_ranges import SeqRanges

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.ready import Level
    from pybroker.run import Run
    from pybroker.store.log import Fetched
    from pybroker.store.page_log import Page

    # The begin: an end, or the message of this level and seq, or what follows it.
    Start = Literal["head", "tail"] | tuple[int, int]
    Answers = list[list[tuple[Run, range]]]

# Between two looks whether the disk has answered.
PAUSE_S: Final = 0.001
# Looks until all messages that are on their way back to the queue are there.
LOOKS_MAX: Final = 100


class _Wanted(NamedTuple):
    """The messages that are browsed: those of `queue` in these `states`, whose seqs are below `before`.

    Windows are so many times `larger` than others.
    """

    queue: "Queue"
    states: "Collection[str]"
    before: int
    larger: int
    backwards: bool


class _Window(NamedTuple):
    """Messages of a level, and so many answers with those that are read, which come into `answers`."""

    level: "Level"
    messages: list[Found]
    answers: "Answers"
    asked: int

    def place(self, *, backwards: bool) -> tuple[int, int]:
        """Return where the next window begins."""
        return self.level.priority, self.messages[-1].seq + (-1 if backwards else 1)

    @property
    def is_small(self) -> bool:
        """Tell whether memory may hold another one."""
        return sum(message.size for message in self.messages) < window.WINDOW_OCTETS


def browse(
    queue: "Queue",
    *,
    pause: "Callable[[float], object]",
    start: "Start" = "head",
    states: "Collection[str]" = (READY,),
    backwards: bool = False,
    larger: int = 1,
) -> "Iterator[Browsed | None]":
    """Yield the queue's messages in these `states`, from `start` on: the levels by priority, each by seq.

    From the tail, or `backwards`, the other way round. None tells that others went on, or that the disk has not
    answered yet. `pause` lets others go on for so many seconds. Unreadable messages are left out; the log tells why.
    Windows so many times `larger` cost less per message, and hold others up for longer.
    """
    backwards = backwards or start == "tail"
    wanted = _Wanted(queue, states, queue.log.next_seq, larger, backwards)
    at = None if isinstance(start, str) else start
    for _ in range(LOOKS_MAX):
        if not queue.returns:
            break
        pause(PAUSE_S)
        yield None
    read_now = _ask(wanted, at)
    is_first = True
    while read_now is not None and not queue.deleted:
        while len(read_now.answers) < read_now.asked:
            pause(PAUSE_S)
            yield None
        at, is_ahead = read_now.place(backwards=backwards), not is_first and read_now.is_small
        ahead = None
        if is_ahead:
            pause(0)
            ahead = _ask(wanted, at)
        yield from _browsed(read_now)
        del read_now
        pause(0)
        yield None
        read_now = ahead if is_ahead else _ask(wanted, at)
        is_first = False


def _ask(wanted: _Wanted, at: tuple[int, int] | None) -> _Window | None:
    """Find the next messages, and have them read; None if there are no more."""
    if wanted.queue.deleted:
        return None
    level, messages = _next(wanted, at)
    if level is None:
        return None
    answers: Answers = []
    return _Window(level, messages, answers, read(wanted.queue, messages, answers.append))


def _next(wanted: _Wanted, at: tuple[int, int] | None) -> "tuple[Level | None, list[Found]]":
    """Return the next messages, and the level that has them; None if there are no more."""
    queue, states, before, larger, backwards = wanted
    levels = queue.backlog.levels
    for level in reversed(levels) if backwards else levels:
        seq = before if backwards else 0
        if at is not None:
            if (level.priority < at[0]) if backwards else (level.priority > at[0]):
                continue
            if level.priority == at[0]:
                seq = at[1]
        messages = window.find(queue, level, Place(seq, before, backwards, larger), states)
        if messages:
            return level, messages
    return None, []


def read(queue: "Queue", messages: list[Found], done: "Fetched") -> int:
    """Have those read that are on disk; return how often `done` will be called."""
    logged = SeqRanges()
    paged: dict[Page, SeqRanges] = {}
    for message in sorted(message for message in messages if message.run is None):
        part = logged if message.page is None else paged.setdefault(message.page, SeqRanges())
        part.add(message.seq, 1, message.size)
    if logged.count:
        queue.log.fetch(queue.id, logged, done)
    if paged:
        pages = queue.vhost.broker.pages
        assert pages is not None
        for page in paged:
            page.retain(1)
        pages.fetch(list(paged.items()), partial(_release, list(paged), done))
    return bool(logged.count) + bool(paged)


def _release(
    pages: "list[Page]",
    done: "Fetched",
    found: "list[tuple[Run, range]]",
) -> None:
    for page in pages:
        page.release(1)
    done(found)


def _browsed(read_now: _Window) -> "Iterator[Browsed]":
    """Yield the messages with what was read of them."""
    priority, there = read_now.level.priority, found_by_seq(read_now.answers)
    for seq, deliveries, run, _, _, batch, channel in read_now.messages:
        if run is not None:
            yield Browsed(priority, run, seq - run.first_seq, deliveries, batch, channel)
        elif seq in there:
            run = there[seq]
            yield Browsed(priority, run, seq - run.first_seq, deliveries)


def found_by_seq(answers: "Answers") -> "dict[int, Run]":
    """Return the run of each message that was read."""
    return {run.first_seq + index: run for found in answers for run, indexes in found for index in indexes}
