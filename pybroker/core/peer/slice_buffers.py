"""SliceBuffers: room for output that is made when it is sent, such as slices of what is in files."""

from typing import Final

SLICE_OCTETS: Final = 262_144
# Nobody uses them, and they are kept for the next slices.
SPARE_MAX: Final = 4


class SliceBuffers:
    """A session that has sent its slice gives the room back, so most share one, which the processor has near."""

    __slots__ = ("_spare",)

    def __init__(self) -> None:
        self._spare: list[memoryview] = []

    def borrow(self) -> memoryview:
        """Return room for a slice."""
        return self._spare.pop() if self._spare else memoryview(bytearray(SLICE_OCTETS))

    def give_back(self, buffer: memoryview) -> None:
        """Take room back: nobody has a part of it any more."""
        if len(self._spare) < SPARE_MAX:
            self._spare.append(buffer)
