"""Removals: a noun is deleted with all that depends on it (bindings, consumers, a connection's queues), in shares.

A small removal is done at once. A large one is done a share in each turn, several of them in rotation. The noun itself
is out of sight at once: nothing is routed there, and its name can be used again when all of it is gone. Messages of a
channel that go back to their queues (`requeue`) are treated likewise. The rows in the definitions go last, in one
transaction. `removal_steps` knows what depends on what.
"""

import logging
from collections import deque
from typing import TYPE_CHECKING, Final, TypeVar

from pybroker.core.background_task import BackgroundTask
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.core.broker import Broker
    from pybroker.core.events.cause import Cause
    from pybroker.core.topology.vhost import VHost
    from pybroker.store.definitions.definitions import Key

    Steps = Iterator[None]

# Steps done at once, some hundred microseconds: a step is a binding or a consumer.
FIRST_STEPS: Final = 32
TURN_STEPS: Final = 128
# A step that takes other things along may cost what many do.
TURN_MS: Final = 5
LOOK_STEPS: Final = 4

_T = TypeVar("_T")

log = logging.getLogger("pybroker")


class Removal:
    """Something that goes. `rows` are removed at its end, `call_backs` called then; `held` are names it goes by.

    Its `cause` is that of all that goes with it. In the end `commit_position` is that of its rows; without rows it
    stays as it was given, 0: nothing to wait for.
    A binding may have another end, which goes as well: `by_end` has the rows of those whose other end stayed so far.
    """

    __slots__ = ("by_end", "call_backs", "cause", "commit_position", "held", "is_over", "rows", "steps")

    def __init__(self, cause: "Cause", commit_position: int = 0) -> None:
        self.cause = cause
        self.commit_position = commit_position
        self.rows: dict[tuple[str, Key], None] = {}
        self.by_end: dict[tuple[VHost, tuple[str, str]], list[tuple[str, Key]]] = {}
        self.held: list[tuple[VHost, tuple[str, str]]] = []
        self.call_backs: list[Callable[[], None]] = []
        self.is_over = False
        self.steps: Steps = iter(())

    def hold(self, vhost: "VHost", kind: str, name: str) -> None:
        """Let nobody make a queue or exchange of this name before the end."""
        end = (kind, name)
        vhost.leaving[end] = self
        self.held.append((vhost, end))
        for other in vhost.broker.removals.going:
            self.rows.update(dict.fromkeys(other.by_end.get((vhost, end), ())))


class StillLeavingError(Exception):
    """Somebody wants to make what is being removed; it can be done when that is over."""

    def __init__(self, removal: Removal) -> None:
        super().__init__("being removed")
        self.removal = removal


def check_leaving(vhost: "VHost", kind: str, name: str) -> None:
    """Raise StillLeavingError if a queue or exchange of this name is being removed."""
    removal = vhost.leaving.get((kind, name))
    if removal is not None:
        raise StillLeavingError(removal)


class Removals(BackgroundTask):
    """The removals that are not over yet. `vhosts` are names of virtual hosts that are not gone with all they had."""

    __slots__ = ("_broker", "going", "vhosts")

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker.turn)
        self._broker = broker
        self.going: deque[Removal] = deque()
        self.vhosts: set[str] = set()

    def __len__(self) -> int:
        return len(self.going)

    def start(
        self,
        steps: "Callable[[Removal], Steps]",
        cause: "Cause",
        call_back: "Callable[[int], None] | None" = None,
        *,
        commit_position: int = 0,
    ) -> Removal:
        """Remove something, in `steps` that are given their removal.

        Call back with the commit position to wait for when it is gone, which may be at once; a removal without rows has
        the one that is given.
        """
        removal = Removal(cause, commit_position)
        removal.steps = steps(removal)
        if call_back is not None:
            removal.call_backs.append(lambda: call_back(removal.commit_position))
        self._do(removal, FIRST_STEPS)
        if not removal.is_over:
            self.going.append(removal)
            self.wake()
        return removal

    def attempt(self, call: "Callable[[], _T]") -> "tuple[_T | None, Removal | None]":
        """Return what a call returns; if it wants what is being removed, that removal, after which to try again."""
        try:
            return call(), None
        except StillLeavingError as leaving:
            return None, leaving.removal

    def deliver(self, _now_ms: int) -> None:
        """Do a turn's share."""
        if self.going:
            removal = self.going.popleft()
            self._do(removal, TURN_STEPS)
            if not removal.is_over:
                self.going.append(removal)
        if self.going:
            self.wake_again()

    def finish(self) -> None:
        """Finish all removals now: for a stop, and for operators who want a name at once."""
        while self.going:
            self.deliver(0)

    def _do(self, removal: Removal, steps: int) -> None:
        """Do some of it, for some milliseconds at most."""
        clock = self._broker.clock
        until_ms = clock.now_ms + TURN_MS
        try:
            for count in range(1, steps + 1):
                if next(removal.steps, removal) is removal:
                    self._end(removal)
                    return
                if not count % LOOK_STEPS:
                    clock.refresh()
                    if clock.now_ms >= until_ms:
                        return
        except Exception:
            # A bug in one step: those who wait must not wait for ever.
            log.exception("internal error in removing for %s", removal.cause, extra=event(BUG))
            self._end(removal)

    def _end(self, removal: Removal) -> None:
        removal.is_over = True
        if removal.rows:
            removal.commit_position = self._broker.definitions.remove_all(removal.rows)
        for vhost, name in removal.held:
            vhost.leaving.pop(name, None)
            vhost.bump()
        for call_back in removal.call_backs:
            call_back()
        removal.call_backs.clear()  # some hold the removal: a circle
