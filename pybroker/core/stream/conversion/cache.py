"""Cache: what was converted, for the other readers of the same messages; what was used least recently goes."""

from collections import Counter
from typing import Any, Final

# Of all streams.
CACHE_OCTETS_MAX: Final = 16_777_216
# Taken beside the octets of each value.
VALUE_OCTETS: Final = 500

# The kind of value, the stream's id, an offset.
Key = tuple[str, int, int]


class Cache:
    """`octets` counts what its values take."""

    __slots__ = ("_counts", "_values", "octets")

    def __init__(self) -> None:
        self._values: dict[Key, tuple[Any, int]] = {}  # the one that was used last is the last one
        self._counts: Counter[int] = Counter()  # of values, by stream
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

    def forget(self, stream_id: int) -> None:
        """Let all go that was made of a stream's messages: it is deleted."""
        if stream_id in self._counts:
            for key in [key for key in self._values if key[1] == stream_id]:
                self._drop(key)

    def put(self, key: Key, value: Any, octets: int) -> None:
        """Keep a value of about so many octets, unless it is larger than all may be."""
        octets += VALUE_OCTETS
        if octets > CACHE_OCTETS_MAX:
            return
        if key in self._values:
            self._drop(key)
        self._values[key] = value, octets
        self._counts[key[1]] += 1
        self.octets += octets
        while self.octets > CACHE_OCTETS_MAX:
            self._drop(next(iter(self._values)))

    def _drop(self, key: Key) -> None:
        self.octets -= self._values.pop(key)[1]
        stream_id = key[1]
        self._counts[stream_id] -= 1
        if not self._counts[stream_id]:
            del self._counts[stream_id]
