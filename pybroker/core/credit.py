"""Credit: octets that one peer has had accepted and that are not on disk yet (data-model.md: share and credit).

Who is over the limit is not read, whether it asked for confirms or not. Counted by ticket of the log, and looked at
when more is accepted: a completed ticket costs nothing but for those who are stopped.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.throttle import JOURNAL

if TYPE_CHECKING:
    from pybroker.core.link import SessionState

# A peer that is ahead of the disk by this much, or all of them together by what the log allows, is not read until half
# of it is on disk: enough for the disk never to wait for the network.
PEER_OCTETS_MAX: Final = 8_388_608


class Credit:
    """Invariant: `_octets` is the sum over `_batches`, which has a few tickets at most, some of them completed.

    While its session is stopped it is one of the broker's `ahead`, and told of completed tickets.
    """

    __slots__ = ("_batches", "_broker", "_octets", "_session")
    octets_max: Final = PEER_OCTETS_MAX

    def __init__(self, session: "SessionState") -> None:
        self._broker = session.broker
        self._session: SessionState | None = session
        self._octets = 0
        self._batches: dict[int, int] = {}  # octets by ticket, ascending

    @property
    def octets(self) -> int:
        """Return how much is accepted and not on disk."""
        self._forget_completed()
        return self._octets

    def take(self, ticket: int, octets: int) -> None:
        """Count octets that were accepted and wait for `ticket`; too many, and the peer is not read."""
        batches = self._batches
        if ticket in batches:
            batches[ticket] += octets
        else:
            if batches:
                self._forget_completed()
            batches[ticket] = octets
        self._octets += octets
        log, session = self._broker.log, self._session
        if session is None:
            return
        if self._octets > PEER_OCTETS_MAX or log.uncommitted_octets > log.uncommitted_octets_max:
            self._broker.ahead[self] = None
            session.stop_reading(JOURNAL)

    def look(self) -> None:
        """Have the peer read again if enough is on disk, or nothing ever will be."""
        log, session = self._broker.log, self._session
        half = self.octets <= PEER_OCTETS_MAX // 2 and log.uncommitted_octets <= log.uncommitted_octets_max // 2
        if session is not None and (half or log.failed):
            self._broker.ahead.pop(self, None)
            session.resume_reading(JOURNAL)

    def end(self) -> None:
        """Stop nobody any more: the session has ended, and nothing here points at it."""
        self._broker.ahead.pop(self, None)
        self._session = None

    def _forget_completed(self) -> None:
        batches, completed = self._batches, self._broker.log.completed
        while batches:
            oldest = next(iter(batches))
            if oldest > completed:
                return
            self._octets -= batches.pop(oldest)
