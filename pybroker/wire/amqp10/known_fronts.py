"""KnownFronts: what stands in front of bodies, as it was read or made lately: most messages have what others had."""

from typing import Final, TypeVar

from pybroker.wire.content import UNIQUE_FLAGS

# Fronts of messages, and the octets of one; longer ones are read, or made, each time.
FRONTS_MAX: Final = 1_024
FRONT_OCTETS_MAX: Final = 512

Key = TypeVar("Key")
Value = TypeVar("Value")


class KnownFronts(dict[Key, Value]):
    """Of a bounded number."""

    __slots__ = ()

    def remember(self, key: Key, value: Value, octets: bytes, properties: bytes) -> None:
        """Keep what is known of a front with these octets, and these properties of AMQP 0-9-1."""
        # Differing ids and times would only push out useful ones.
        if len(octets) <= FRONT_OCTETS_MAX and not int.from_bytes(properties[:2]) & UNIQUE_FLAGS:
            if len(self) >= FRONTS_MAX:
                self.clear()
            self[key] = value
