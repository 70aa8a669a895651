"""Shown: documents of messages that are handed over together, so few that their caller makes a step of them."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.core.queue.browse.document import PART_OCTETS, documents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.queue.browse.browsed import Browsed
    from pybroker.core.queue.queue import Queue

BATCH_DOCUMENTS: Final = 8
BATCH_OCTETS: Final = 24_576


class Shown:
    """Gathers documents of a queue's messages, with up to `octets_max` of each body; `raw` as they are."""

    __slots__ = ("_batch", "_octets", "_octets_max", "_queue", "_raw")

    def __init__(self, queue: "Queue", octets_max: int, *, raw: bool) -> None:
        self._queue = queue
        self._octets_max = octets_max
        self._raw = raw
        self._batch: list[dict[str, Any]] = []
        self._octets = 0

    def add(self, message: "Browsed") -> "Iterator[list[dict[str, Any]]]":
        """Add a message; yield the documents as soon as they are enough."""
        size = len(message.property_octets) + min(message.body_octets, self._octets_max, PART_OCTETS)
        for one in documents(self._queue, message, self._octets_max, raw=self._raw):
            self._batch.append(one)
            self._octets += size
            if len(self._batch) >= BATCH_DOCUMENTS or self._octets >= BATCH_OCTETS:
                yield self.hand_over()

    def hand_over(self) -> list[dict[str, Any]]:
        """Return the documents that are there, which may be none."""
        batch, self._batch, self._octets = self._batch, [], 0
        return batch
