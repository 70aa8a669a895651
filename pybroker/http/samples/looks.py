"""Looks: figures of objects as they were when somebody asked for them, and how fast they changed since."""

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

from pybroker.http.samples.history import BASIC, STEP_MS, History

# Objects in lists, of which the last two looks are kept; a row takes some 400 octets.
LISTED_MAX: Final = 20_000
# Objects that are looked at alone, or whose samples are asked for, have a history: a page draws it.
WATCHED_MAX: Final = 1_000
# A look that is younger says too little about a rate.
LOOK_MS_MIN: Final = 1_000


class Figures(NamedTuple):
    """Figures of an object, whose kind and name are its key."""

    key: tuple[str, ...]
    names: tuple[str, ...]


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
        self._listed: OrderedDict[Figures, _Look] = OrderedDict()
        self._watched: OrderedDict[Figures, History] = OrderedDict()

    def rates(self, figures: Figures, values: Sequence[int], now_ms: int) -> list[float]:
        """Return how fast each figure of an object changed since a look some seconds ago, per second.

        An object that nobody has looked at before has rates of 0.
        """
        sample = array("q", (now_ms, *values))
        look = self._listed.get(figures)
        if look is None:
            look = self._listed[figures] = _Look(sample)
            while len(self._listed) > LISTED_MAX:
                self._listed.popitem(last=False)
        elif now_ms - look.last[0] >= STEP_MS:
            look.before, look.last = look.last, sample
        self._listed.move_to_end(figures)
        # An object of the same name may have begun to count anew.
        before = look.last if now_ms - look.last[0] >= LOOK_MS_MIN else look.before
        passed_ms = now_ms - before[0]
        if passed_ms < LOOK_MS_MIN:
            return [0.0] * len(values)
        return [1_000 * (value - other) / passed_ms for value, other in zip(values, before[1:], strict=True)]

    def watch(self, figures: Figures, values: Sequence[int], now_ms: int) -> History:
        """Return the history of an object, with this look."""
        history = self._watched.get(figures)
        if history is None:
            history = self._watched[figures] = History(figures.names, BASIC)
            while len(self._watched) > WATCHED_MAX:
                self._watched.popitem(last=False)
        history.add(now_ms, values)
        self._watched.move_to_end(figures)
        return history
