"""Credit: octets that one peer has had accepted and that are not on disk yet (data-model.md: share and credit).

Counted by ticket of the log, so that it costs a batch and not a message. Who is over the limit is not read
(`link.SessionState.owe`), whether it asked for confirms or not. What a log does is unknown here.
"""

from typing import Final

# A peer that is ahead of the disk by this much, or all of them together by that much, is not read until half of it is
# on disk: enough for the disk never to wait for the network.
PEER_OCTETS_MAX: Final = 8_388_608
NODE_OCTETS_MAX: Final = 67_108_864


class Credit:
    """Invariant: `octets` is the sum over the tickets that are not completed, of which there are a few at most."""

    __slots__ = ("_batches", "octets")

    def __init__(self) -> None:
        self.octets = 0
        self._batches: dict[int, int] = {}  # octets by ticket, ascending

    def owe(self, ticket: int, octets: int) -> None:
        """Count what waits for `ticket`; tickets never descend."""
        batches = self._batches
        batches[ticket] = batches.get(ticket, 0) + octets
        self.octets += octets

    def completed(self, ticket: int) -> None:
        """Forget what waited for tickets up to this one."""
        batches = self._batches
        while batches:
            oldest = next(iter(batches))
            if oldest > ticket:
                return
            self.octets -= batches.pop(oldest)

    def clear(self) -> None:
        """Forget everything: nothing will be completed any more."""
        self.octets = 0
        self._batches.clear()
