"""Cache: what was converted, for the other readers of the same messages; what was used least recently goes."""

from typing import Any, Final

# Of all streams.
CACHE_OCTETS_MAX: Final = 16_777_216
# Taken beside the octets of each value.
VALUE_OCTETS: Final = 500

# The kind of value, the stream's id, an offset.
Key = tuple[str, int, int]


class Cache:
    """`octets` counts what its values take."""

    __slots__ = ("_values", "octets")

    def __init__(self) -> None:
        self._values: dict[Key, tuple[Any, int]] = {}  # the one that was used last is the last one
        self.octets = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Any:
        """Return a value, None if it is not there."""
        found = self._values.pop(key, None)
        if found is None:
            return None
        self._values[key] = found
        return found[0]

    def put(self, key: Key, value: Any, octets: int) -> None:
        """Keep a value of about so many octets, unless it is larger than all may be."""
        octets += VALUE_OCTETS
        if octets > CACHE_OCTETS_MAX:
            return
        before = self._values.pop(key, None)
        self.octets += octets - (before[1] if before is not None else 0)
        self._values[key] = value, octets
        while self.octets > CACHE_OCTETS_MAX:
            oldest = next(iter(self._values))
            self.octets -= self._values.pop(oldest)[1]
