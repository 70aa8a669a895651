"""ContentAssembler: a content that arrives frame by frame (AMQP §4.2.6); most come whole, and need none."""

from typing import TYPE_CHECKING, Final

from pybroker.wire import frame

if TYPE_CHECKING:
    from pybroker.core.routing.publish import Route

# A body frame of one octet is an object of 48 and its place in a list: 16 MiB of them would be 900.
PARTS_MAX: Final = 1_024


class ContentAssembler:
    """A publish's route, and what has come of its content. `began` when the header frame has."""

    __slots__ = ("began", "blocks", "body_octets", "header", "parts", "remaining", "route")

    def __init__(self, route: "Route") -> None:
        self.route = route
        self.began = False
        self.header = b""
        self.blocks: list[bytes] = []  # parts that were joined already
        self.parts: list[bytes] = []
        self.body_octets = 0
        self.remaining = 0

    def begin(self, channel: int, payload: bytes) -> None:
        """Take the header frame's payload."""
        self.began = True
        self.header = payload
        self.body_octets = self.remaining = int.from_bytes(payload[4:12])
        self.parts.append(frame.frame(frame.HEADER, channel, payload))

    def add(self, octets: bytes, frame_octets_max: int) -> bool:
        """Take a whole body frame; False if that is more than the header announced.

        A peer may exceed `frame_octets_max` (0: not limited) by eight octets; frames sent on have no such leeway.
        """
        size = len(octets) - frame.EMPTY_FRAME_OCTETS
        if size > self.remaining:
            return False
        self.remaining -= size
        if size:  # an empty frame is legal, and some clients cannot read one
            if len(octets) > frame_octets_max > 0:
                octets = frame.cut_body(octets, frame_octets_max)
            self.parts.append(octets)
            if len(self.parts) >= PARTS_MAX:
                self.blocks.append(b"".join(self.parts))
                self.parts.clear()
        return True

    def content(self) -> bytes:
        """Return header frame and body frames."""
        return b"".join([*self.blocks, *self.parts])
