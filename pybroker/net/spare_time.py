"""Spare time: what newcomers and operators need from the loop, in small steps, behind everybody else's work.

A thousand clients that come back at once are a second of the loop's work, another one of the threads', and one of their
own; a few operators who look at a thousand messages each are as much. Connections that stand must not wait for it. So
each step (a socket to accept, a flight of a handshake, a login, the end of a connection, some messages of a command)
stands in a line. If nobody else is served, one follows the other. Else the line gets half of what the others leave,
so that a storm is spread over some seconds, and a tenth of the time in any case: all commands together, not each. Does
not know what the steps are, but of which kind: code that ran a moment ago is in the processor's caches, so that steps
of one kind, one after the other, take a sixth less time.
"""

import logging
from collections import deque
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent.hub import Waiter

from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from collections.abc import Callable

# Taken at a time where nobody else is served, or they leave nothing; else one step, since an event that comes meanwhile
# waits for it. A command's step lasts as long, others' mostly less.
CHUNK_NS: Final = 100_000
# The budget is made anew so often, beside others, and is this part of the time that they leave.
PERIOD_S: Final = 0.001
PART: Final = 2
# It is at least so much of a period: some seventy newcomers a second, or twenty beside commands that last.
LEAST_NS: Final = 100_000
UNBOUNDED_NS: Final = 1 << 62
# Steps of those that are in, for one that lets another one in. A newcomer needs about as many.
STEPS_PER_ENTRY: Final = 24
# Steps of one kind in a row, while others wait.
ROW_MAX: Final = 8

log = logging.getLogger("pybroker")


class SpareTime:
    """Lines of steps, one for each kind; of entries, which let newcomers in and make more steps; of paused greenlets.

    The kinds take turns, as do newcomers and greenlets, each greenlet for one step. `around` is called with a function
    that takes one or some, and ends a turn behind it; `serves` tells whether others are served.
    """

    __slots__ = (
        "_around",
        "_began_ns",
        "_budget_ns",
        "_cpu_ns",
        "_entries",
        "_idle",
        "_in_row",
        "_lines",
        "_newcomer_was_last",
        "_paused",
        "_serves",
        "_since_entry",
        "_timer",
        "_until_ns",
        "_used_ns",
    )

    def __init__(self, loop: Any, around: "Callable[[Callable[[], None]], None]", serves: "Callable[[], bool]") -> None:
        self._around = around
        self._serves = serves
        self._lines: dict[str, deque[Callable[[], object]]] = {}  # by kind, none empty; the first one is served
        self._in_row = 0  # steps taken of the first one
        self._entries: deque[Callable[[], object]] = deque()
        self._paused: deque[Waiter[None]] = deque()
        self._newcomer_was_last = False
        self._since_entry = 0  # steps
        self._until_ns = 0  # when the step of the greenlet that goes on ends
        self._began_ns = self._cpu_ns = 0  # the period, and what this thread had had of a CPU then
        self._budget_ns = self._used_ns = 0  # of the period
        self._idle: Any = loop.idle(ref=False)
        self._timer: Any = loop.timer(PERIOD_S, PERIOD_S)

    def __len__(self) -> int:
        return sum(map(len, self._lines.values())) + len(self._entries) + len(self._paused)

    def __bool__(self) -> bool:
        return bool(self._lines or self._entries or self._paused)

    def do_later(self, kind: str, step: "Callable[[], object]") -> None:
        """Take a step when there is time for it; those of one kind in the order of the calls."""
        line = self._lines.get(kind)
        if line is None:
            self._lines[kind] = deque((step,))
        else:
            line.append(step)
        self._watch()

    def has(self, kind: str) -> bool:
        """Tell whether steps of a kind wait."""
        return kind in self._lines

    def let_in(self, entry: "Callable[[], object]") -> None:
        """Let a newcomer in when there is time for it; those that are in go first, but not for ever."""
        self._entries.append(entry)
        self._watch()

    def pause(self, seconds: float, *, ahead: bool = False) -> None:
        """Let others go on: for so many seconds; for 0, if the step of this greenlet has lasted long enough.

        To be called as often as there is a place for it: it costs next to nothing. The greenlet goes on in its turn, or
        `ahead` of other greenlets: commands may be many.
        """
        if seconds > 0:
            gevent.sleep(seconds)
        elif perf_counter_ns() < self._until_ns:
            return
        waiter: Waiter[None] = Waiter()
        if ahead:
            self._paused.appendleft(waiter)
        else:
            self._paused.append(waiter)
        self._watch()
        waiter.get()

    def finish(self) -> None:
        """Take all steps in line, and those that they add, at once: nobody is served any more."""
        while self._lines:
            self._step(self._pop())

    def _watch(self) -> None:
        if self._timer.active:
            return
        now_ns = perf_counter_ns()
        if now_ns - self._began_ns >= PERIOD_S * 1e9:
            self._begin(now_ns, thread_time_ns(), LEAST_NS)
        self._timer.start(self._on_timer)
        if self._used_ns < self._budget_ns:
            self._idle.start(self._on_idle)

    def _begin(self, now_ns: int, cpu_ns: int, budget_ns: int) -> None:
        """Begin a period."""
        self._began_ns, self._cpu_ns = now_ns, cpu_ns
        self._budget_ns, self._used_ns = budget_ns if self._serves() else UNBOUNDED_NS, 0

    def _on_idle(self) -> None:
        """Go on: the loop found no event."""
        self._around(self._take_one if self._budget_ns < UNBOUNDED_NS else self._take_some)

    def _on_timer(self) -> None:
        """Go on even if the loop is never idle, and begin another period."""
        now_ns, cpu_ns = perf_counter_ns(), thread_time_ns()
        is_starved = not self._used_ns
        others_ns = cpu_ns - self._cpu_ns - self._used_ns
        left_ns = now_ns - self._began_ns - others_ns
        self._begin(now_ns, cpu_ns, max(LEAST_NS, left_ns // PART))
        if not self._idle.active:
            self._idle.start(self._on_idle)
        if is_starved:
            self._around(self._take_some)

    def _take_some(self) -> None:
        self._take(CHUNK_NS)

    def _take_one(self) -> None:
        self._take(0)

    def _take(self, least_ns: int) -> None:
        """Take steps until they have lasted so long; one at least."""
        began_ns, took_ns = perf_counter_ns(), 0
        while self:
            if self._paused and (self._newcomer_was_last or not (self._lines or self._entries)):
                self._go_on()
            else:
                self._step(self._pop())
            took_ns = perf_counter_ns() - began_ns
            if took_ns >= least_ns:
                break
        self._used_ns += took_ns
        if not self:
            self._timer.stop()
            self._idle.stop()
        elif self._used_ns >= self._budget_ns:
            self._idle.stop()

    def _go_on(self) -> None:
        """Have the next greenlet go on for a step."""
        self._newcomer_was_last = False
        self._until_ns = perf_counter_ns() + CHUNK_NS
        # Handles exceptions itself; if the greenlet was killed meanwhile, nothing happens.
        self._paused.popleft().switch(None)
        self._until_ns = 0

    def _pop(self) -> "Callable[[], object]":
        """Take the next step or entry out of its line; a line that was served for long is the last one then."""
        self._newcomer_was_last = True
        lines = self._lines
        if self._entries and (not lines or self._since_entry >= STEPS_PER_ENTRY):
            self._since_entry = 0
            return self._entries.popleft()
        self._since_entry += 1
        kind = next(iter(lines))
        line = lines[kind]
        step = line.popleft()
        self._in_row += 1
        if not line or self._in_row >= ROW_MAX:
            del lines[kind]
            self._in_row = 0
            if line:
                lines[kind] = line
        return step

    def _step(self, step: "Callable[[], object]") -> None:
        try:
            step()
        except Exception:
            # A bug in one of them; the others are somebody else's.
            log.exception("internal error in spare time", extra=event(BUG))
