from typing import Final

SEAM: Final[int]

# Rows, where they end in the octets, the last delivery tag; ends and octets of the bodies, and of the properties; the
# number of each row's route, and the routes by their octets. Ends and numbers have 32 bits each, in native order.
def cut(
    data: bytes, at: int, frame_octets_max: int, prefix: bytes, channel: int, /
) -> tuple[int, int, int, bytes, bytes, bytes, bytes, bytes, dict[bytes, int]] | None: ...
