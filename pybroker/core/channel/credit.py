"""Credit: octets that one peer has had accepted and that are not on disk yet.

A peer that is over the limit is not read, whether it asked for confirms or not. Counted by log and commit position, and
looked at when more is accepted: a completed position costs nothing but for stopped sessions.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.channel.throttle import JOURNAL

if TYPE_CHECKING:
    from pybroker.core.channel.receipt import Receipt
    from pybroker.core.channel.state import SessionState
    from pybroker.store.log import Log

# A peer that is ahead of the disk by this much, or all of them together by what the log allows, is not read until half
# of it is on disk: enough for the disk never to wait for the network.
PEER_OCTETS_MAX: Final = 8_388_608


class Credit:
    """Invariant: `_octets` is the sum over `_batches`, which has a few positions of each log at most, some completed.

    Octets that go to two logs count for both: both have to write them. While its session is stopped, the credit is one
    of the broker's `ahead` and is told of completed positions; `_stopped_by` are the logs that it had reached by then.
    """

    __slots__ = ("_batches", "_octets", "_session", "_stopped_by")
    octets_max: Final = PEER_OCTETS_MAX

    def __init__(self, session: "SessionState") -> None:
        self._session: SessionState | None = session
        self._octets = 0
        self._batches: dict[Log, dict[int, int]] = {}  # octets by position, ascending
        self._stopped_by: tuple[Log, ...] = ()

    @property
    def octets(self) -> int:
        """Return how much is accepted and not on disk."""
        self._forget_completed()
        return self._octets

    def charge(self, receipt: "Receipt", octets: int) -> None:
        """Count octets that were accepted and wait for what the receipt says; too many, and the peer is not read."""
        if receipt.log is None:
            return
        self._charge(receipt.log, receipt.position, octets)
        if receipt.others is not None:
            for log, position in receipt.others.items():
                self._charge(log, position, octets)

    def _charge(self, log: "Log", position: int, octets: int) -> None:
        batches = self._batches.get(log)
        if batches is None:
            if self._batches:
                self._forget_completed()
            self._batches[log] = {position: octets}
        elif position in batches:
            batches[position] += octets
        else:
            self._forget_completed()
            self._batches.setdefault(log, batches)[position] = octets
        self._octets += octets
        session = self._session
        if session is None:
            return
        too_much = self._octets > PEER_OCTETS_MAX or log.uncommitted_octets > log.uncommitted_octets_max
        if too_much or session.broker.streams.is_behind:
            session.broker.ahead[self] = None
            if log not in self._stopped_by:
                self._stopped_by += (log,)
            session.stop_reading(JOURNAL)

    def check(self) -> None:
        """Have the peer read again if enough is on disk, or nothing ever will be."""
        logs, session = self._stopped_by, self._session
        half = all(log.uncommitted_octets <= log.uncommitted_octets_max // 2 for log in logs)
        half = half and self.octets <= PEER_OCTETS_MAX // 2
        half = half and session is not None and session.broker.streams.has_caught_up
        if session is not None and (half or any(log.failed for log in (*logs, *self._batches))):
            session.broker.ahead.pop(self, None)
            self._stopped_by = ()
            session.resume_reading(JOURNAL)

    def end(self) -> None:
        """Stop nobody any more: the session has ended, and nothing here points at it."""
        if self._session is not None:
            self._session.broker.ahead.pop(self, None)
        self._session = None

    def _forget_completed(self) -> None:
        for log in list(self._batches):
            batches, completed = self._batches[log], log.completed
            while batches:
                oldest = next(iter(batches))
                if oldest > completed:
                    break
                self._octets -= batches.pop(oldest)
            else:
                del self._batches[log]
