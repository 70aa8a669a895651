"""Run, Entry, Names, RunAttributes: how messages live in memory.

A run is consecutive messages of one route and one kind, shared by all queues they reached; an entry is one queue's
view of a run. Everything a queue does (dispatch, drop, expire, requeue, settle) is slicing of ranges, so it costs
O(entries), while every message keeps its own identity: its seq.

This file knows octets and counts. It does not know queues, channels or AMQP methods.
"""

from array import array
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from sys import getsizeof
from typing import Final

# A run ends at either limit, so that one slow consumer pins little, and a record of the log stays small.
RUN_MESSAGES_MAX: Final = 4_096
RUN_OCTETS_MAX: Final = 262_144
# An old entry with less than this part of its run gets a run of its own.
PIN_PARTS: Final = 8
# `deliveries` of a message that may have been delivered before a kill: it is redelivered, but no delivery is known.
MAYBE_DELIVERED: Final = -1
# The content header frame has the body's size in its octets 11..18 (AMQP §4.2.6.1). If sizes differ they are read
# several times for each message: `map` of this takes half as long as a comprehension.
_size_octets: Final = itemgetter(slice(11, 19))

# RunAttributes.wants: what must be read in the headers before a message of this kind can be routed or delivered.
# A headers table alone is none of them: it would end a run at every message that has one, and few ask for it.
WANTS_CC: Final = 2
WANTS_USER_ID: Final = 4
WANTS_REPLY_TO: Final = 8
WANTS_DELAY: Final = 16
# A filter value, for consumers of streams.
WANTS_FILTER: Final = 32


@dataclass(frozen=True, slots=True)
class RunAttributes:
    """The attributes of a message that the broker must know, read off its properties.

    `ttl_ms` is the `expiration` property; `priority` as published (0..255); `wants` a set of WANTS_ bits.
    """

    persistent: bool = False
    priority: int = 0
    ttl_ms: int | None = None
    wants: int = 0


PLAIN_ATTRIBUTES: Final = RunAttributes()

# Python's overhead for each content: the bytes object, and a pointer to it.
BYTES_OCTETS: Final = getsizeof(b"")
POINTER_OCTETS: Final = 8
AROUND_OCTETS: Final = BYTES_OCTETS + POINTER_OCTETS
# The offset of a content in a packed run.
END_OCTETS: Final = 4
# Overhead of a run: itself, its list, one queue's entry. It is most of the size if each message has a run of its own.
RUN_OCTETS: Final = 406


class Held:
    """Approximate memory of all runs. Counted by run: one shared by several queues counts once."""

    __slots__ = ("octets",)

    def __init__(self) -> None:
        self.octets = 0


held: Final = Held()


@dataclass(frozen=True, slots=True)
class Names:
    """Exchange and routing key of a publish. `tail` ends its basic.deliver: both as shortstrs, and the frame-end."""

    exchange: str
    routing_key: str
    tail: bytes


class Run:
    """Consecutive messages: seqs `first_seq .. first_seq + count - 1`.

    `contents` are the octets as published: content header frame and body frames, all with `channel` as their channel
    number and none longer than `frame_octets_max` (0: not limited). `octets` counts them with their frames,
    `body_octets` the bodies alone; `body_size` is the size of each body where all are equal, else -1. `origin` is the
    id of the session that published them (0: the broker itself). Packed, `contents` is None, `_blob` has them all
    and `_ends` where each begins; before, these two are not set.
    `held_octets` is what its contents count for in `held`, from its birth to its end. The last batch appended begins at
    index `_seam`, and the bodies before it have `_seam_octets`.
    """

    __slots__ = (
        "__weakref__",
        "_blob",
        "_ends",
        "_seam",
        "_seam_octets",
        "arrived_ms",
        "attributes",
        "body_octets",
        "body_size",
        "channel",
        "contents",
        "count",
        "first_seq",
        "frame_octets_max",
        "held_octets",
        "names",
        "octets",
        "origin",
    )
    _blob: bytes
    _ends: "array[int]"

    def __init__(
        self,
        names: Names,
        attributes: RunAttributes,
        first_seq: int,
        contents: list[bytes],
        octets: int,
        body_octets: int,
        body_size: int,
        arrived_ms: int,
        channel: int = 0,
        frame_octets_max: int = 0,
        origin: int = 0,
    ) -> None:
        self.names = names
        self.attributes = attributes
        self.first_seq = first_seq
        self.count = len(contents)
        self.contents: list[bytes] | None = contents
        self.octets = octets
        self.body_octets = body_octets
        self.body_size = body_size
        self.arrived_ms = arrived_ms
        self.channel = channel
        self.frame_octets_max = frame_octets_max
        self.origin = origin
        self._seam = self._seam_octets = 0
        # One message is counted here: where each is a run of its own, a call would cost a hundredth of it.
        mine = octets + AROUND_OCTETS if self.count == 1 else octets_held(contents, octets)
        self.held_octets = mine
        held.octets += mine + RUN_OCTETS

    def __del__(self) -> None:
        held.octets -= self.held_octets + RUN_OCTETS

    @classmethod
    def of_block(
        cls,
        names: Names,
        attributes: RunAttributes,
        first_seq: int,
        block: bytes,
        ends: "array[int]",
        body_octets: int,
        body_size: int,
        arrived_ms: int,
        channel: int,
        frame_octets_max: int,
    ) -> "Run":
        """Return a packed run: content i is `block[ends[i] : ends[i + 1]]`."""
        run = cls(
            names, attributes, first_seq, [], len(block), body_octets, body_size, arrived_ms, channel, frame_octets_max
        )
        run.count = len(ends) - 1
        run.contents = None
        run._blob = block
        run._ends = ends
        run._hold(len(block) + BYTES_OCTETS + END_OCTETS * len(ends))
        return run

    def _hold(self, octets: int) -> None:
        """Count for so many octets from now on."""
        held.octets += octets - self.held_octets
        self.held_octets = octets

    def extend(self, contents: list[bytes], octets: int, body_octets: int, body_size: int) -> None:
        """Append messages whose seqs follow the last one's; the caller has checked names, attributes and limits."""
        mine = self.contents
        assert mine is not None
        # A flood of equal messages is one object many times.
        around = POINTER_OCTETS * len(contents)
        more = around if contents[-1] is mine[0] else around + octets + BYTES_OCTETS * len(contents)
        self.held_octets += more
        held.octets += more
        mine += contents
        self._seam, self._seam_octets = self.count, self.body_octets
        self.count += len(contents)
        self.octets += octets
        self.body_octets += body_octets
        if self.body_size != body_size:
            self.body_size = -1

    def contents_at(self, indexes: range) -> list[bytes]:
        """Return the contents at `indexes`, in that order."""
        contents = self.contents
        if contents is not None:
            if len(indexes) == len(contents):
                return contents
            return contents[indexes.start : indexes.stop : indexes.step]
        blob, ends = self._blob, self._ends
        return [blob[ends[i] : ends[i + 1]] for i in indexes]

    def content(self, index: int) -> bytes:
        """Return one message's content."""
        return self.contents_at(range(index, index + 1))[0]

    def body_octets_of(self, indexes: range) -> int:
        """Return the octets of the bodies at `indexes`; O(1) for a whole run, its last batch, bodies of equal size."""
        n = len(indexes)
        if self.body_size >= 0:
            return n * self.body_size
        if n == self.count:
            return self.body_octets
        if indexes.start == self._seam and n == self.count - self._seam:
            # Appended messages reach their queues, and mostly a consumer, batch by batch.
            return self.body_octets - self._seam_octets
        return sum(map(int.from_bytes, map(_size_octets, self.contents_at(indexes))))

    def pins(self, indexes: range) -> bool:
        """Tell whether keeping `indexes` keeps much else: less than an eighth of what this run has is theirs."""
        return len(indexes) * PIN_PARTS < self.count and (indexes.step == 1 or len(indexes) == 1)

    def part(self, indexes: range) -> "Run":
        """Return consecutive messages as a run of their own, with the seqs they have, so that the others can go."""
        contents = list(self.contents_at(indexes))
        return Run(
            self.names,
            self.attributes,
            self.first_seq + indexes.start,
            contents,
            sum(map(len, contents)),
            self.body_octets_of(indexes),
            self.body_size,
            self.arrived_ms,
            self.channel,
            self.frame_octets_max,
            self.origin,
        )

    def pack(self) -> None:
        """Turn many small objects into one block, which malloc gives back whole. No effect when equal or packed."""
        contents = self.contents
        # A flood of equal messages is one object many times: eight octets a message, no block is smaller.
        if contents is None or len(contents) < 2 or contents[0] is contents[-1]:
            return
        self._ends = array("I", accumulate(map(len, contents), initial=0))
        self._blob = b"".join(contents)
        self.contents = None
        self._hold(self.octets + BYTES_OCTETS + END_OCTETS * len(self._ends))


def octets_held(contents: list[bytes], octets: int) -> int:
    """Return what contents of so many octets take in memory, with what Python keeps around each."""
    count = len(contents)
    if count > 1 and contents[0] is contents[-1]:
        # A flood of equal messages is one object many times.
        return octets // count + BYTES_OCTETS + POINTER_OCTETS * count
    return octets + AROUND_OCTETS * count


def known_deliveries(deliveries: int) -> int:
    """Return how often a message is known to have been delivered, for the `deliveries` of an entry."""
    return max(0, deliveries)


class Entry:
    """One queue's view of a run: `indexes` into it. `deliveries` counts how often they were delivered and came back.

    After a kill it may be MAYBE_DELIVERED.
    """

    __slots__ = ("deliveries", "indexes", "run")

    def __init__(self, run: Run, indexes: range, deliveries: int = 0) -> None:
        self.run = run
        self.indexes = indexes
        self.deliveries = deliveries

    def __len__(self) -> int:
        return len(self.indexes)

    @property
    def first_seq(self) -> int:
        """Return the seq of the first message."""
        return self.run.first_seq + self.indexes.start

    @property
    def last_seq(self) -> int:
        """Return the seq of the last message."""
        return self.run.first_seq + self.indexes[-1]

    @property
    def body_octets(self) -> int:
        """Return the octets of these messages' bodies."""
        return self.run.body_octets_of(self.indexes)

    def __repr__(self) -> str:
        return f"Entry(seqs {self.first_seq}..{self.last_seq}, {len(self.indexes)}, deliveries {self.deliveries})"
