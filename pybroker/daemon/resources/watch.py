"""The greenlet of a monitor, which measures again and again, sooner when it matters.

The part that the monitors of memory and disk share. The monitor knows what is measured, and what follows.
"""

import logging
from typing import TYPE_CHECKING

from gevent.event import Event

from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from pybroker.core.broker import Broker

log = logging.getLogger("pybroker")


class Watch:
    """`check` looks at once, and calls `looked` at its end; `run` is a greenlet's whole life."""

    __slots__ = ("_broker", "_changed")

    # Its name in log lines.
    WHAT = ""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._changed = Event()

    def run(self) -> None:
        """Check for ever; a check in between, because a limit changed, moves the next one."""
        while True:
            self._changed.clear()
            if self._changed.wait(self.pause_ms / 1000):
                continue
            try:
                self._broker.clock.refresh()
                self.check()
            except Exception:
                # Go on whatever the error: without the next look nobody would be blocked or unblocked.
                log.exception("the %s could not be measured", self.WHAT, extra=event(BUG))

    @property
    def pause_ms(self) -> int:
        """Return when to look again."""
        raise NotImplementedError

    def check(self) -> None:
        """Look at once."""
        raise NotImplementedError

    def looked(self) -> None:
        """Have the time to the next look count from now."""
        self._changed.set()
