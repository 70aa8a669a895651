"""The messages that wait in a queue, level by level, with their counts, and the count of unacknowledged ones.

It owns the counts, so that no message comes or leaves uncounted. Does not know consumers, expiry, limits or paging:
those modules call this one. Costs are per entry, never per message.
"""

from typing import TYPE_CHECKING

from pybroker.core.queue.ready import Level
from pybroker.run import Entry, Run

if TYPE_CHECKING:
    from pybroker.core.queue.ready import Removed


class Backlog:
    """The `levels` of a queue, descending by priority, and the counts of its messages and of their bodies' octets.

    `messages_ready` is the sum of what the levels count; `messages_evicted` of these have their contents on disk only.
    `messages_unacknowledged` are with consumers, `messages_delayed` wait for their retry. `disk_writes` counts messages
    that were written to disk, as they are to last or because memory was short; `disk_reads` those that were read back.
    Nobody else changes these figures.

    Of a `durable` queue the messages that are not persistent are counted: they are few, and most often none.
    """

    __slots__ = (
        "disk_reads",
        "disk_writes",
        "durable",
        "levels",
        "messages_delayed",
        "messages_evicted",
        "messages_ready",
        "messages_unacknowledged",
        "octets_delayed",
        "octets_evicted",
        "octets_ready",
        "octets_unacknowledged",
        "priority_max",
        "transient_delayed",
        "transient_octets_delayed",
        "transient_octets_ready",
        "transient_octets_unacknowledged",
        "transient_ready",
        "transient_unacknowledged",
    )

    def __init__(self, priority_max: int = 0, *, durable: bool = False) -> None:
        self.priority_max = priority_max  # 0: without priorities
        self.durable = durable
        self.levels: list[Level] = [Level()]
        self.messages_ready = self.octets_ready = 0
        self.messages_evicted = self.octets_evicted = 0
        self.messages_unacknowledged = self.octets_unacknowledged = 0
        self.transient_ready = self.transient_octets_ready = 0
        self.transient_unacknowledged = self.transient_octets_unacknowledged = 0
        self.messages_delayed = self.octets_delayed = 0
        self.transient_delayed = self.transient_octets_delayed = 0
        self.disk_reads = self.disk_writes = 0

    # -- what others ask ----------------------------------------------------------------------------------------------

    @property
    def messages(self) -> int:
        """Return ready, unacknowledged and delayed messages together."""
        return self.messages_ready + self.messages_unacknowledged + self.messages_delayed

    @property
    def octets(self) -> int:
        """Return the octets of these messages' bodies."""
        return self.octets_ready + self.octets_unacknowledged + self.octets_delayed

    @property
    def messages_persistent(self) -> int:
        """Return how many of these messages survive a restart: of a queue that is not durable, none."""
        transient = self.transient_ready + self.transient_unacknowledged + self.transient_delayed
        return self.messages - transient if self.durable else 0

    @property
    def octets_persistent(self) -> int:
        """Return the octets of the bodies of those that survive a restart."""
        transient = self.transient_octets_ready + self.transient_octets_unacknowledged + self.transient_octets_delayed
        return self.octets - transient if self.durable else 0

    @property
    def messages_resident(self) -> int:
        """Return how many ready messages have their contents in memory."""
        return self.messages_ready - self.messages_evicted

    @property
    def octets_resident(self) -> int:
        """Return the octets of these messages' bodies."""
        return self.octets_ready - self.octets_evicted

    def head(self) -> Entry | None:
        """Return the entry that leaves next; None also while it is evicted."""
        level = self.first_level()
        return None if level is None else level.head()

    def first_level(self) -> Level | None:
        """Return the level whose head leaves next, None if nothing is ready."""
        for level in self.levels:
            if level.count:
                return level
        return None

    def level_of(self, priority: int) -> Level:
        """Return the level of `priority` (above the maximum: the maximum), made when first used."""
        if not self.priority_max:
            return self.levels[0]
        priority = min(priority, self.priority_max)
        for at, level in enumerate(self.levels):
            if level.priority == priority:
                return level
            if level.priority < priority:
                level = Level(priority)
                self.levels.insert(at, level)
                return level
        raise AssertionError("level 0 always exists")

    # -- in -----------------------------------------------------------------------------------------------------------

    def enqueue(self, run: Run, indexes: range) -> Level:
        """Append new messages, which are written to disk if they and the queue are to last; return their level."""
        level = self.levels[0] if not self.priority_max else self.level_of(run.attributes.priority)
        level.push(run, indexes)
        n = len(indexes)
        self.messages_ready += n
        octets = run.body_octets if n == run.count else run.body_octets_of(indexes)
        self.octets_ready += octets
        if self.durable:
            if run.attributes.persistent:
                self.disk_writes += n
            else:
                self.transient_ready += n
                self.transient_octets_ready += octets
        return level

    def recover(self, level: Level, messages: int, octets: int) -> None:
        """Count evicted messages that a start puts behind the head window of a level."""
        level.count_paged(messages)
        self.messages_ready += messages
        self.octets_ready += octets
        self.count_evicted(messages, octets)

    # -- to consumers, and from them ----------------------------------------------------------------------------------

    def dispatch(
        self, level: Level, messages_max: int, entries_max: int, octets_max: int, no_ack: bool
    ) -> tuple[list[Entry], int, int]:
        """Remove what leads a level: up to so many messages and entries, until these have so many octets with frames.

        At least one entry, which there is, goes. They are unacknowledged then, or gone where `no_ack`. Return them, how
        many messages these are, and how many of those were delivered before.
        """
        count = redelivered = octets = frames = 0
        entries: list[Entry] = []
        for _ in range(entries_max):
            entry = level.pop(messages_max - count)
            entries.append(entry)
            run, n = entry.run, len(entry.indexes)
            count += n
            if n == run.count:
                octets += run.body_octets
                frames += run.octets
            else:
                octets += run.body_octets_of(entry.indexes)
                frames += run.octets * n // run.count
            if entry.deliveries:
                redelivered += n
            if count == messages_max or frames >= octets_max or not (level.ready or level.returned):
                break
        self.messages_ready -= count
        self.octets_ready -= octets
        if not no_ack:
            self.messages_unacknowledged += count
            self.octets_unacknowledged += octets
        if self.transient_ready:
            self._transient_left(entries, gone=no_ack)
        return entries, count, redelivered

    def dispatch_head(self, level: Level, count: int) -> Entry:
        """Remove up to `count` messages of a level's head entry, which there is; they are unacknowledged then."""
        entry = level.pop(count)
        n, octets = len(entry.indexes), entry.run.body_octets_of(entry.indexes)
        self.messages_ready -= n
        self.octets_ready -= octets
        self.messages_unacknowledged += n
        self.octets_unacknowledged += octets
        if self.transient_ready:
            self._transient_left([entry], gone=False)
        return entry

    def settle(self, run: Run, indexes: range) -> None:
        """Forget unacknowledged messages."""
        n, size = len(indexes), run.body_size
        self.messages_unacknowledged -= n
        # Each acknowledgement comes here: a call less for bodies of equal size is a fortieth of it.
        octets = n * size if size >= 0 else run.body_octets_of(indexes)
        self.octets_unacknowledged -= octets
        if self.transient_unacknowledged and not run.attributes.persistent:
            self.transient_unacknowledged -= n
            self.transient_octets_unacknowledged -= octets

    def settle_all(self) -> None:
        """Forget every unacknowledged message: the queue is deleted."""
        self.messages_unacknowledged = self.octets_unacknowledged = 0
        self.transient_unacknowledged = self.transient_octets_unacknowledged = 0

    def requeue(self, entries: list[Entry]) -> None:
        """Put unacknowledged messages back to their original place."""
        if self.transient_unacknowledged:
            messages, octets = _transient(entries)
            self.transient_unacknowledged -= messages
            self.transient_octets_unacknowledged -= octets
            self.transient_ready += messages
            self.transient_octets_ready += octets
        messages, octets = self._put_back(entries)
        self.messages_unacknowledged -= messages
        self.octets_unacknowledged -= octets
        self.messages_ready += messages
        self.octets_ready += octets

    def _put_back(self, entries: list[Entry]) -> tuple[int, int]:
        """Put entries to their places, where they may grow; return how many messages they are, and their octets."""
        messages = octets = 0
        by_level: dict[Level, list[Entry]] = {}
        for entry in entries:
            run, indexes = entry.run, entry.indexes
            n, size = len(indexes), run.body_size
            messages += n
            octets += n * size if size >= 0 else run.body_octets_of(indexes)
            by_level.setdefault(self.level_of(run.attributes.priority), []).append(entry)
        for level, returned in by_level.items():
            level.give_back(returned)
        return messages, octets

    # -- delayed ------------------------------------------------------------------------------------------------------

    def delay(self, entries: list[Entry]) -> None:
        """Count unacknowledged messages as waiting for their retry."""
        messages, octets = sum([len(entry.indexes) for entry in entries]), sum([entry.body_octets for entry in entries])
        self.messages_unacknowledged -= messages
        self.octets_unacknowledged -= octets
        self.messages_delayed += messages
        self.octets_delayed += octets
        if self.transient_unacknowledged:
            messages, octets = _transient(entries)
            self.transient_unacknowledged -= messages
            self.transient_octets_unacknowledged -= octets
            self.transient_delayed += messages
            self.transient_octets_delayed += octets

    def retry(self, entries: list[Entry]) -> None:
        """Put delayed messages back to their original place."""
        if self.transient_delayed:
            messages, octets = _transient(entries)
            self.transient_delayed -= messages
            self.transient_octets_delayed -= octets
            self.transient_ready += messages
            self.transient_octets_ready += octets
        messages, octets = self._put_back(entries)
        self.messages_delayed -= messages
        self.octets_delayed -= octets
        self.messages_ready += messages
        self.octets_ready += octets

    def count_delayed(self, messages: int, octets: int) -> None:
        """Count delayed messages that a start finds."""
        self.messages_delayed += messages
        self.octets_delayed += octets

    def count_delayed_lost(self, messages: int, octets: int) -> None:
        """Count delayed messages that could not be read as gone."""
        self.messages_delayed -= messages
        self.octets_delayed -= octets

    def clear_delayed(self) -> None:
        """Count no message as delayed any more."""
        self.messages_delayed = self.octets_delayed = 0
        self.transient_delayed = self.transient_octets_delayed = 0

    # -- out otherwise ------------------------------------------------------------------------------------------------

    def remove_head(self, level: Level, count: int) -> Entry:
        """Remove up to `count` messages of a level's head entry, which there is."""
        entry = level.pop(count)
        self._remove([entry])
        return entry

    def remove_tail(self, level: Level, count: int) -> list[Entry]:
        """Remove the `count` youngest messages of a level (a publish that is rejected), oldest first."""
        entries = level.pop_tail(count)
        self._remove(entries)
        return entries

    def count_removed(self, level: Level, entries: list[Entry]) -> None:
        """Count messages that somebody took out of a level."""
        level.count_paged(-sum([len(entry.indexes) for entry in entries]))
        self._remove(entries)

    def clear(self) -> "list[Removed]":
        """Remove everything that is ready and return it."""
        self.messages_ready = self.octets_ready = 0
        self.messages_evicted = self.octets_evicted = 0
        self.transient_ready = self.transient_octets_ready = 0
        return [removed for level in self.levels for removed in level.clear()]

    # -- contents that leave the memory -------------------------------------------------------------------------------

    def count_evicted(self, messages: int, octets: int) -> None:
        """Count ready messages whose contents have left the memory."""
        self.messages_evicted += messages
        self.octets_evicted += octets

    def count_written(self, messages: int) -> None:
        """Count messages that are written to disk, by the log or because memory is short."""
        self.disk_writes += messages

    def count_read(self, messages: int) -> None:
        """Count messages that were read back."""
        self.disk_reads += messages

    def count_loaded(self, messages: int, octets: int) -> None:
        """Count evicted messages whose contents are back, or cannot be read."""
        self.messages_evicted -= messages
        self.octets_evicted -= octets

    def count_lost(self, level: Level, messages: int, octets: int, *, transient: bool) -> None:
        """Count messages of a level that could not be read as gone."""
        level.count_paged(-messages)
        self.messages_ready -= messages
        self.octets_ready -= octets
        if self.durable and transient:
            self.transient_ready -= messages
            self.transient_octets_ready -= octets

    def count_dropped(self, level: Level, messages: int, octets: int, *, transient: bool) -> None:
        """Count evicted messages of a level that were dropped unseen."""
        self.count_lost(level, messages, octets, transient=transient)
        self.count_loaded(messages, octets)

    # -- messages that a restart would forget -------------------------------------------------------------------------

    def _transient_left(self, entries: list[Entry], *, gone: bool) -> None:
        messages, octets = _transient(entries)
        self.transient_ready -= messages
        self.transient_octets_ready -= octets
        if not gone:
            self.transient_unacknowledged += messages
            self.transient_octets_unacknowledged += octets

    def _remove(self, entries: list[Entry]) -> None:
        for entry in entries:
            self.messages_ready -= len(entry.indexes)
            self.octets_ready -= entry.body_octets
        if self.transient_ready:
            self._transient_left(entries, gone=True)


def _transient(entries: list[Entry]) -> tuple[int, int]:
    """Return how many messages of these are not persistent, and the octets of their bodies."""
    transient = [entry for entry in entries if not entry.run.attributes.persistent]
    if not transient:
        return 0, 0
    return sum([len(entry.indexes) for entry in transient]), sum([entry.body_octets for entry in transient])
