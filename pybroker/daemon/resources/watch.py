"""Watch: the greenlet of a monitor, which looks again and again, sooner where it matters.

What is looked at, and what follows, is the monitor's; this is the part that memory and disk have in common.
"""

import logging
from typing import TYPE_CHECKING

from gevent.event import Event

if TYPE_CHECKING:
    from pybroker.core.broker import Broker

log = logging.getLogger("pybroker")


class Watch:
    """`check` looks at once, and calls `looked` at its end; `run` is a greenlet's whole life."""

    __slots__ = ("_broker", "_changed")

    # What a log line calls it.
    WHAT = ""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._changed = Event()

    def run(self) -> None:
        """Check for ever; who checks in between, because a limit changed, changes when the next look is due."""
        while True:
            self._changed.clear()
            if self._changed.wait(self.pause_ms / 1000):
                continue
            try:
                self._broker.clock.refresh()
                self.check()
            except Exception:
                # Whatever it is: without the next look nobody would be blocked, and nobody let go.
                log.exception("the %s could not be measured", self.WHAT)

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
