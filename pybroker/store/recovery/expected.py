"""Segments that a log should have, so that a start knows which ones are missing.

A checkpoint lists the segments of its time, with the number of live messages in each, for each queue; the file
`log.newest` has the number of the segment that was begun last (newest.py). Any between the two were begun after the
checkpoint.
"""

from typing import TYPE_CHECKING

from pybroker.store.disk import DiskError
from pybroker.store.format import segment_name, segment_number
from pybroker.store.recovery.quarantine import note_missing, set_aside
from pybroker.store.segments.ack_ranges import ranges
from pybroker.store.segments.checkpoint import Listed, checkpoint_commit_position
from pybroker.store.segments.live_index import Missing
from pybroker.store.segments.newest import NAME, Newest

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Iterable

    from pybroker.store.disk import Disk
    from pybroker.store.segments.checkpoint import Checkpoint
    from pybroker.store.segments.live_index import Recovered

    # Queue, deliveries (0: done with), and seqs as first, last, first, last ...
    Settles = Iterable[tuple[int, int, array[int]]]


class Expected:
    """The segments that the checkpoint `base` and the file beside it lead to expect. Faults are added to `found`.

    If a newer checkpoint is damaged, segments may have been given up by it that lived as of this one.
    """

    def __init__(self, disk: "Disk", newest: Newest, base: "Checkpoint", found: "Recovered") -> None:
        self._disk = disk
        self._newest = newest
        self._base = base
        self._found = found
        self._noted = newest.read()
        commit_positions = (checkpoint_commit_position(name) or 0 for name in disk.names())
        self._superseded = any(commit_position > base.commit_position for commit_position in commit_positions)

    def names(self) -> list[str]:
        """Return the files of the segments; one that had been given up and is back is none of this log's."""
        names = []
        for name in self._disk.names():
            number = segment_number(name)
            if number is None:
                continue
            if number < self._base.next_number and number not in self._base.listed:
                self._found.add_damage(
                    f"segment {name} had been given up and has reappeared{set_aside(self._disk, name)}"
                )
            else:
                names.append(name)
        return names

    def compare(self, there: "Collection[int]", read: "Collection[int]") -> list[Listed]:
        """Return the segments that should be there and are not, or have nothing in them.

        `there` are the numbers of the files, `read` of those with a batch. Of what the checkpoint lists, one that was
        sealed and had nothing live may have been given up since.
        """
        found, base = self._found, self._base
        newest = max([self._noted or 0, base.next_number - 1, *there])
        lost: list[Listed] = []
        if base.next_number:
            lost += [
                each for each in base.listed.values() if each.number not in read and (each.live or not each.sealed)
            ]
            begun = [number for number in range(base.next_number, newest + 1) if number not in there]
            lost += [Listed(number, 0, 0, 0, sealed=False, live={}) for number in begun]
            # A segment has its first batch only after it is noted: on a full disk it may have neither.
            if self._noted is None and (base.next_number > 1 or read):
                found.add_damage(f"{NAME} is missing or damaged: a missing end of the log cannot be detected")
        elif self._noted and self._noted not in there:
            # Without a list (version 1, or no checkpoint is left) this one should be there all the same.
            lost.append(Listed(self._noted, 0, 0, 0, sealed=False, live={}))
            if not there:
                found.add_damage(f"the log is missing: it had segments up to {segment_name(self._noted)}")
        # A last segment without a batch goes. Its removal is noted first, else the next start would report it missing.
        newest = max([base.next_number - 1, *read, *(each.number for each in lost), 0])
        found.next_number = newest + 1
        if newest != self._noted:
            self._note(newest)
        return lost

    def _note(self, number: int) -> None:
        try:
            self._newest.write(number)
        except DiskError as error:
            if not error.full:
                raise

    def report(self, lost: list[Listed], settles: "Settles", known: "Collection[int]") -> None:
        """Report missing messages: live as of the checkpoint and not settled since."""
        firsts = sorted(each.first_seq for each in self._base.listed.values())
        for each in lost:
            above = [first for first in firsts if first > each.first_seq]
            last_seq = (above[0] if above else self._base.next_seq) - 1
            live = {queue_id: count for queue_id, count in each.live.items() if queue_id in known}
            for queue_id, deliveries, pairs in settles:
                if queue_id in live and not deliveries:
                    parts = ((max(first, each.first_seq), min(last, last_seq)) for first, last in ranges(pairs))
                    live[queue_id] -= sum(last - first + 1 for first, last in parts if first <= last)
            live = {queue_id: count for queue_id, count in live.items() if count > 0}
            if live or not (each.sealed or (self._superseded and each.last_commit_position)):
                missing = Missing(segment_name(each.number), live)
                self._found.missing.append(missing)
                self._found.add_damage(note_missing(self._disk, missing))
