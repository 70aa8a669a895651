"""Handovers: originals whose copies went to other logs, kept in their own log until the copies are on disk there.

After a crash in between there are both: a message may come twice, and is never lost. Does not know queues: what there
is to settle is a call.
"""

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.channel.receipt import Receipt
    from pybroker.store.log import Log


class Handovers:
    """Calls that settle originals, by a log that their copies wait for; in a line the oldest first.

    Neither bounded nor awaited at a stop. A node has one log, so a copy is in the batch that settles its original, and
    nothing ever waits here. An original that still waits at a stop comes back with the next start, beside its copy. A
    second log needs a bound where copies are made, which stops making them: nothing that waits here can be refused.
    """

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[Log, deque[tuple[Receipt, Callable[[], None]]]] = {}

    def add(self, receipt: "Receipt", settle: "Callable[[], None]") -> None:
        """Settle an original when its copies are on disk; now, if they are, or are not to last."""
        receipt.want()
        self._place(receipt, settle)

    def when_stored(self, receipt: "Receipt", call_back: "Callable[[], None]") -> None:
        """Call back when something is on disk, whenever that is; never, if its log fails."""
        self._place(receipt, call_back)

    def log_moved(self, log: "Log") -> None:
        """Settle the originals that this log was the last to keep waiting; those of a log that failed stay."""
        if log.failed:
            self._waiting.pop(log, None)
        line = self._waiting.get(log)
        while line and line[0][0].awaited is not log:
            self._place(*line.popleft())
        if line is not None and not line:
            del self._waiting[log]

    def _place(self, receipt: "Receipt", settle: "Callable[[], None]") -> None:
        log = receipt.awaited
        if log is None:
            settle()
        elif not log.failed:
            self._waiting.setdefault(log, deque()).append((receipt, settle))
