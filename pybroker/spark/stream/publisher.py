"""A publisher of one stream: messages with ascending ids, and the confirms of them.

With a reference the broker drops messages whose ids are not above the last one it has, and confirms them alike.
"""

import time
from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

from pybroker.client.errors import CallTimeout
from pybroker.spark.stream.errors import StreamError
from pybroker.wire.stream.codes import VERSION_1, Key

if TYPE_CHECKING:
    from pybroker.spark.stream.link import Link

_head: Final = Struct(">LHHBL").pack
_front: Final = Struct(">QL").pack
_HEAD_OCTETS: Final = 9
_FRONT_OCTETS: Final = 12
# Of one Publish, if a frame may have more.
_FRAME_OCTETS: Final = 262_144


class Publisher:
    """Made by `Link.publisher`; all methods are one thread's. `last_id` is 0 without a reference, or if it is new."""

    __slots__ = ("_ended", "_frame_octets_max", "_link", "_open_max", "_refused", "id", "last_id", "open", "stream")

    def __init__(
        self, link: "Link", publisher_id: int, stream: str, last_id: int, frame_octets_max: int, open_max: int
    ) -> None:
        self._link = link
        self.id = publisher_id
        self.stream = stream
        self.last_id = last_id
        self._frame_octets_max = min(frame_octets_max or _FRAME_OCTETS, _FRAME_OCTETS)
        self._open_max = open_max
        self._refused = 0
        self._ended = 0
        self.open = 0

    def publish(self, first_id: int, messages: Sequence[bytes], timeout_s: float) -> None:
        """Publish messages, encoded as AMQP 1.0, with ids from `first_id` on; wait while too many are unconfirmed.

        Raises as `settle`.
        """
        self._check()
        at = 0
        while at < len(messages):
            if self.open >= self._open_max:
                self._wait(self._open_max // 2, timeout_s)
            parts, octets = [b""], _HEAD_OCTETS
            for message in messages[at : at + self._open_max - self.open]:
                octets += _FRONT_OCTETS + len(message)
                if octets > self._frame_octets_max and len(parts) > 1:
                    break
                parts += (_front(first_id + at + len(parts) // 2, len(message)), message)
            count = len(parts) // 2
            size = sum(map(len, parts)) + _HEAD_OCTETS
            parts[0] = _head(size, Key.PUBLISH, VERSION_1, self.id, count)
            self.open += count
            self._link.send_octets(b"".join(parts))
            at += count
        self._link.wait(0.0, lambda: False)
        self._check()

    def settle(self, timeout_s: float) -> None:
        """Wait until the broker has confirmed all.

        Raises StreamError if it refused one, or if the stream is there no more; CallTimeout, ConnectionLost, OSError.
        """
        self._wait(0, timeout_s)

    def confirmed(self, count: int) -> None:
        """Count confirms."""
        self.open -= count

    def refused(self, count: int, code: int) -> None:
        """Note that the broker took some messages not."""
        self.open -= count
        self._refused = code

    def end(self, code: int) -> None:
        """Learn that no more is taken."""
        self._ended = code

    def _wait(self, open_max: int, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        self._check()
        while self.open > open_max:
            self._link.wait(max(0.0, deadline - time.monotonic()), lambda: self.open <= open_max or self._failed)
            self._check()
            if self.open > open_max:
                raise CallTimeout(f"{self.open} messages to stream {self.stream!r} were not confirmed in time")

    @property
    def _failed(self) -> bool:
        return bool(self._refused or self._ended)

    def _check(self) -> None:
        if self._failed:
            raise StreamError(f"publish to stream {self.stream!r}", self._ended or self._refused)
