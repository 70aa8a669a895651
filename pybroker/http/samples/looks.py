"""Looks: figures of objects as they were when somebody asked for them, and how fast they changed since."""

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, TypeAlias

from pybroker.http.samples.history import BASIC, STEP_MS, History

# Objects in lists, of which the last two looks are kept; a row takes some 400 octets.
LISTED_MAX: Final = 20_000
# Objects that are looked at alone have a history: a page draws it.
WATCHED_MAX: Final = 1_000
# A look that is younger says too little about a rate.
LOOK_MS_MIN: Final = 1_000

# Kind and name.
Key: TypeAlias = tuple[str, ...]


class _Look:
    """Two looks: the `last`, and the one `before` it; each begins with its time (ms)."""

    __slots__ = ("before", "last")

    def __init__(self, sample: "array[int]") -> None:
        self.last = self.before = sample


# Differs from RabbitMQ: it samples all objects all the time, whether anybody looks or not.
class Looks:
    """The objects that were looked at last."""

    __slots__ = ("_listed", "_watched")

    def __init__(self) -> None:
        self._listed: OrderedDict[Key, _Look] = OrderedDict()
        self._watched: OrderedDict[Key, History] = OrderedDict()

    def rates(self, key: Key, values: Sequence[int], now_ms: int) -> list[float]:
        """Return how fast each figure of an object changed since a look some seconds ago, per second.

        An object that nobody has looked at before has rates of 0.
        """
        sample = array("q", (now_ms, *values))
        look = self._listed.get(key)
        if look is None:
            look = self._listed[key] = _Look(sample)
            while len(self._listed) > LISTED_MAX:
                self._listed.popitem(last=False)
        elif now_ms - look.last[0] >= STEP_MS:
            look.before, look.last = look.last, sample
        self._listed.move_to_end(key)
        # An object of the same name may have begun to count anew.
        before = look.last if now_ms - look.last[0] >= LOOK_MS_MIN else look.before
        passed_ms = now_ms - before[0]
        if passed_ms < LOOK_MS_MIN:
            return [0.0] * len(values)
        return [1_000 * (value - other) / passed_ms for value, other in zip(values, before[1:], strict=True)]

    def watch(self, key: Key, names: Sequence[str], values: Sequence[int], now_ms: int) -> History:
        """Return the history of an object that is looked at alone, with this look."""
        history = self._watched.get(key)
        if history is None:
            history = self._watched[key] = History(names, BASIC)
            while len(self._watched) > WATCHED_MAX:
                self._watched.popitem(last=False)
        history.add(now_ms, values)
        self._watched.move_to_end(key)
        return history
