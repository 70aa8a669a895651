"""The logs that a publish waits for before it may be confirmed, and which of its messages were rejected.

A publish may reach several logs; it is on disk when each of them has completed the commit position that it got there.
Does not know who asks: confirms, a transaction's commit, credit.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pybroker.store.log import Log

_NOTHING: Final[frozenset[int]] = frozenset()


class Receipt:
    """`log` and `position` are the first log that was reached and the commit position there, None: there is none.

    `others` has the further logs. `rejected` are messages that a queue refused, counted from 0. `index` is where in its
    run the publish's message `offset` is, the first one of what is being enqueued.
    """

    __slots__ = ("index", "log", "offset", "others", "position", "rejected")

    def __init__(self) -> None:
        self.index = self.offset = self.position = 0
        self.log: Log | None = None
        self.others: dict[Log, int] | None = None
        self.rejected: set[int] | frozenset[int] = _NOTHING

    def wait(self, log: "Log", position: int) -> None:
        """Note that `log` has to complete `position` first; 0: there is nothing to wait for."""
        if self.log is log:
            self.position = max(self.position, position)
        elif not position:
            return
        elif self.log is None:
            self.log = log
            self.position = position
        else:
            others = self.others = self.others or {}
            others[log] = max(others.get(log, 0), position)

    def join(self, other: "Receipt") -> None:
        """Wait for all that another publish waits for."""
        if other.log is not None:
            self.wait(other.log, other.position)
        for log, position in (other.others or {}).items():
            self.wait(log, position)

    def begin(self, offset: int) -> None:
        """Note that message `offset` of the publish comes next."""
        self.offset = offset

    def reject(self, indexes: range) -> None:
        """Note messages of the run that a queue refused (reject-publish): any one queue's refusal is enough."""
        rejected = self.rejected
        if not isinstance(rejected, set):
            rejected = self.rejected = set()
        shift = self.offset - self.index
        rejected.update(i + shift for i in indexes)

    def covers(self, other: "Receipt") -> bool:
        """Tell whether both wait for the same, or the other one for nothing: one answer serves both."""
        return other.log is None or (
            self.log is other.log and self.position == other.position and self.others == other.others
        )

    def want(self) -> None:
        """Have the logs commit at the end of this turn: somebody waits."""
        if self.log is not None:
            self.log.want(self.position)
        if self.others is not None:
            for log, position in self.others.items():
                log.want(position)

    @property
    def awaited(self) -> "Log | None":
        """Return a log that has not completed what the publish waits for, a failed one first; None: all is on disk."""
        log = self.log
        if log is not None and self.position <= log.completed:
            log = None
        if self.others is not None and (log is None or not log.failed):
            for other, position in self.others.items():
                if position > other.completed and (log is None or other.failed):
                    log = other
        return log

    @property
    def completed(self) -> int:
        """Return 1 when all is on disk, else 0: a reply that waits for the publish waits for position 1."""
        return int(self.awaited is None)

    @property
    def failed(self) -> str:
        """Return why one of the logs will never have the publish; empty: all is well."""
        log = self.awaited
        return log.failed if log is not None else ""


class _NoReceipt(Receipt):
    """For publishers to which nothing is owed: it forgets."""

    __slots__ = ()

    def wait(self, log: "Log", position: int) -> None:
        """Forget it."""

    def reject(self, indexes: range) -> None:
        """Forget it."""


NO_RECEIPT: Final = _NoReceipt()
