"""Browse of the messages that wait for their retry, in the order in which they are due, without touching anything."""

from typing import TYPE_CHECKING, Final

from pybroker.core.queue.browse import window
from pybroker.core.queue.browse.browse import PAUSE_S, found_by_seq, read
from pybroker.core.queue.browse.browsed import Browsed
from pybroker.core.queue.browse.window import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.queue.browse.browse import Answers
    from pybroker.core.queue.queue import Queue
    from pybroker.core.queue.retry.index import Row
    from pybroker.run import Entry

# Rows looked at in one go; each is one message or many.
ROWS: Final = 512
_BEFORE_ALL: Final = -(1 << 62)


def browse_delayed(queue: "Queue", pause: "Callable[[float], object]") -> "Iterator[Browsed | None]":
    """Yield the delayed messages; None tells that others went on, or that the disk has not answered yet.

    Messages that return meanwhile may be shown or not, and none is shown twice.
    """
    due_ms, seq = _BEFORE_ALL, 0
    while not queue.deleted and queue.delayed is not None:
        rows = _some(queue.delayed.index.after(due_ms, seq, ROWS))
        if not rows:
            return
        due_ms, seq = rows[-1].due_ms, rows[-1].seq
        resident = queue.delayed.window.resident
        parts = [(row, list(_messages(row, resident.get(row.seq)))) for row in rows]
        answers: Answers = []
        asked = read(queue, [message for _, part in parts for message in part], answers.append)
        while len(answers) < asked:
            pause(PAUSE_S)
            yield None
        there = found_by_seq(answers)
        priority_max = queue.backlog.priority_max
        for row, part in parts:
            for message in part:
                run = message.run or there.get(message.seq)
                if run is not None:
                    priority, index = min(run.attributes.priority, priority_max), message.seq - run.first_seq
                    yield Browsed(priority, run, index, message.deliveries, due_ms=row.due_ms)
        del parts, answers, there
        pause(0)
        yield None


def _some(rows: "list[Row]") -> "list[Row]":
    """Return the first rows, with no more messages and octets than a window has, but one row at least."""
    messages = octets = 0
    for at, row in enumerate(rows):
        messages += row.messages
        octets += row.octets
        if at and (messages > window.WINDOW_MESSAGES or octets > window.WINDOW_OCTETS):
            return rows[:at]
    return rows


def _messages(row: "Row", entries: "list[Entry] | None") -> "Iterator[Found]":
    if entries is None:
        for seq in range(row.seq, row.seq + row.messages):
            yield Found(seq, row.deliveries, None, row.size)
        return
    for entry in entries:
        for index in entry.indexes:
            yield Found(entry.run.first_seq + index, entry.deliveries, entry.run)
