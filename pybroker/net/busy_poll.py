"""Busy polling: the loop looks for events a moment longer before it sleeps, as long as it mostly finds one.

A client that sends one message and waits for its confirm answers within microseconds. Waking a sleeping process, above
all in a virtual machine, costs both sides more than the message does. The loop does not poll while a thread works: the
thread would wait for the interpreter again and again. Nor does it poll when the thread is done: the first message after
its confirms would be written alone, and the ones close behind it would wait for the disk. Does not know what the events
are.
"""

from typing import Any, Final

# Looks before giving up: some fifty microseconds, what a peer on this machine takes for an answer.
LOOKS_MAX: Final = 40
# Three of four times it has to find something. Else it rests for so many turns, and sees then whether that has changed.
MISS: Final = 4
CREDIT_MAX: Final = 8
REST: Final = -64


class BusyPoll:
    """An idle watcher: while it is active, the loop polls without waiting and calls it when there was nothing.

    `working` is how many jobs of threads are under way; the caller that submits them counts them.
    """

    __slots__ = ("_credit", "_looks", "_watcher", "working")

    def __init__(self, loop: Any) -> None:
        self._watcher: Any = loop.idle(ref=False)
        self._credit = CREDIT_MAX
        self._looks = 0
        self.working = 0

    def after_event(self) -> None:
        """Do not sleep at once, if that was well spent lately."""
        if self._credit < CREDIT_MAX:
            self._credit += 1
        self._looks = 0
        if self._credit > 0 and not self.working and not self._watcher.active:
            self._watcher.start(self._on_nothing)

    def _on_nothing(self) -> None:
        self._looks += 1
        if self.working:
            self._watcher.stop()
        elif self._looks >= LOOKS_MAX:
            self._watcher.stop()
            self._credit -= MISS
            if self._credit <= 0:
                self._credit = REST
