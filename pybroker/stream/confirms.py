"""Publishes that wait for the disk, and what their publishers are told then, in as few frames as have room for it.

Knows neither streams nor how a publish came; does not know who listens.
"""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.frame import ID_OCTETS, publish_confirm, publish_error

if TYPE_CHECKING:
    from pybroker.core.channel.receipt import Receipt
    from pybroker.store.log import Log
    from pybroker.stream.publishers import Publisher


class Waiting(NamedTuple):
    """Ids of one publisher, eight octets each, that wait for the same; `repeats` are those it had sent before."""

    receipt: "Receipt"
    publisher: "Publisher"
    ids: list[bytes]
    repeats: list[bytes]


class Confirms:
    """`awaited` is the log whose next commit may let some go; None: nothing waits."""

    __slots__ = ("_line", "awaited")

    def __init__(self) -> None:
        self._line: deque[Waiting] = deque()
        self.awaited: Log | None = None

    def __len__(self) -> int:
        return sum([len(ids) for waiting in self._line for ids in waiting.ids + waiting.repeats]) // ID_OCTETS

    @property
    def is_waiting(self) -> bool:
        """Tell whether there are any."""
        return bool(self._line)

    def add(self, publisher: "Publisher", ids: bytes, receipt: "Receipt", repeats: bytes = b"") -> None:
        """Have ids confirmed when what the receipt says is on disk."""
        line = self._line
        if line and line[-1].publisher is publisher and line[-1].receipt.covers(receipt):
            line[-1].ids.append(ids)
            line[-1].repeats.append(repeats)
            return
        line.append(Waiting(receipt, publisher, [ids], [repeats]))
        if self.awaited is None:
            self.awaited = receipt.log

    def pop(self, frame_octets_max: int) -> list[bytes]:
        """Return the frames that may be sent now; publishers that are gone are told nothing.

        Repeated ids have frames of their own after the others, as RabbitMQ's have: clients panic at an id twice in one.
        """
        line = self._line
        confirmed: dict[Publisher, tuple[list[bytes], list[bytes]]] = {}
        frames: list[bytes] = []
        self.awaited = None
        while line:
            receipt, publisher, ids, repeats = line[0]
            log = receipt.awaited
            if log is not None and not log.failed:
                self.awaited = log
                break
            line.popleft()
            if publisher.is_gone:
                continue
            if log is None:
                told = confirmed.setdefault(publisher, ([], []))
                told[0].extend(ids)
                told[1].extend(repeats)
            else:
                for refused in filter(None, (b"".join(ids), b"".join(repeats))):
                    publisher.refused += len(refused) // ID_OCTETS
                    frames += publish_error(publisher.id, refused, Code.INTERNAL_ERROR, frame_octets_max)
        for publisher, told in confirmed.items():
            for octets in filter(None, map(b"".join, told)):
                publisher.count_confirmed(len(octets) // ID_OCTETS)
                frames += publish_confirm(publisher.id, octets, frame_octets_max)
        return frames

    def clear(self) -> None:
        """Forget all: nobody listens any more."""
        self._line.clear()
        self.awaited = None
