"""Counts of what became of a queue's messages, apart from the plain ways: delivered, acknowledged, expired, dropped."""

from typing import Any


class Fates:
    """Messages by fate, since the queue was declared. Some have two: a rejected one may be dead-lettered as well."""

    __slots__ = ("dead_lettered", "over_limit", "purged", "refused", "rejected", "requeued")

    def __init__(self) -> None:
        self.rejected = self.requeued = self.over_limit = self.dead_lettered = 0
        self.refused = self.purged = 0

    def depart(self, messages: int, reason: str, *, forwarded: bool) -> None:
        """Count messages that left undelivered or were given up; they are `forwarded` as dead letters."""
        if forwarded:
            self.dead_lettered += messages
        if reason == "rejected":
            self.rejected += messages
        elif reason == "delivery_limit":
            self.over_limit += messages

    def requeue(self, batches: list[Any]) -> None:
        """Count messages that came back."""
        self.requeued += sum([len(batch.indexes) for batch in batches])

    def refuse(self, messages: int) -> None:
        """Count messages that the queue had no room for."""
        self.refused += messages

    def purge(self, messages: int) -> None:
        """Count messages that somebody purged."""
        self.purged += messages
