"""History of a queue's figures: samples of what it counts anyway, and the change between two moments."""

from array import array
from typing import Final, NamedTuple

# One of the windows that rates are asked for; time to drain and time to full go by it.
MINUTE_MS: Final = 60_000
# No rate is asked for over more. A queue that has rested for so long is forgotten but for its last figures.
WINDOW_MS_MAX: Final = 600_000
# Samples that are kept for each five seconds. Older ones are kept for each minute, at most two.
FINE_MAX: Final = 13


class Figures(NamedTuple):
    """Counts of a queue: messages that came in, messages that it has, and what counts towards its limits."""

    entered: int
    messages: int
    waiting: int
    octets_waiting: int


NOTHING: Final = Figures(0, 0, 0, 0)
_WIDTH: Final = 5  # of a sample: when, and the figures


class History:
    """Samples of a queue, ascending by time: of every five seconds, and of every minute before.

    Two with equal figures mean that nothing changed in between: the second one moves on while that is so. Otherwise
    they may have changed at any time in between. `entered` and `messages` are the last ones.
    """

    __slots__ = ("_coarse", "_last", "_rests", "_samples", "entered", "messages")

    def __init__(self, now_ms: int, figures: Figures) -> None:
        self._samples = array("q", (now_ms, *figures))
        self._coarse = 0  # how many are kept for each minute
        self._rests = False  # the last two are equal
        self._last = figures
        self.entered, self.messages = figures[:2]

    def __len__(self) -> int:
        return len(self._samples) // _WIDTH

    def add(self, now_ms: int, figures: Figures) -> None:
        """Append the figures of now."""
        samples = self._samples
        if figures != self._last:
            self._last = figures
            self.entered, self.messages = figures[:2]
            self._rests = False
        elif self._rests:
            samples[-_WIDTH] = now_ms
            return
        else:
            self._rests = True
        samples.extend((now_ms, *figures))
        if len(self) - self._coarse > FINE_MAX:
            self._thin_out()

    def rest(self, until_ms: int) -> None:
        """Learn that nothing has changed until then."""
        if until_ms > self._samples[-_WIDTH]:
            self.add(until_ms, self._last)

    @property
    def since_ms(self) -> int:
        """Return when the last figures were seen first, or were noted when older ones were forgotten."""
        samples = self._samples
        return samples[-2 * _WIDTH] if self._rests else samples[-_WIDTH]

    @property
    def resting_ms(self) -> int:
        """Return for how long nothing had changed at the last sample."""
        samples = self._samples
        return samples[-_WIDTH] - samples[-2 * _WIDTH] if self._rests else 0

    def shrink(self) -> None:
        """Forget all of one that rests but its last figures, and since when they are so."""
        self._samples = self._samples[-2 * _WIDTH : -_WIDTH]
        self._coarse, self._rests = 0, False

    def at(self, then_ms: int, newest_ms: int, rested_ms: int) -> tuple[int, Figures]:
        """Return the figures at about that time, and when they were so: the first ones if it is before these.

        Take none younger than `newest_ms` if there are older ones. After the last sample nothing changed until
        `rested_ms`, if that is later.
        """
        samples = self._samples
        at = len(samples) - _WIDTH
        while at and samples[at] > then_ms:
            at -= _WIDTH
        when_ms, after = samples[at], at + _WIDTH
        if when_ms >= then_ms:
            return when_ms, self._figures(at)
        if after == len(samples):
            return max(when_ms, min(then_ms, rested_ms)), self._last
        if samples[at + 1 : after] == samples[after + 1 : after + _WIDTH]:
            return then_ms, self._figures(at)
        if samples[after] - then_ms < then_ms - when_ms and samples[after] <= newest_ms:
            return samples[after], self._figures(after)
        return when_ms, self._figures(at)

    def _thin_out(self) -> None:
        """Let the oldest sample of the last minute be one of the older ones, or go if its neighbours are near."""
        samples, at = self._samples, self._coarse * _WIDTH
        if at and samples[at + _WIDTH] - samples[at - _WIDTH] <= MINUTE_MS:
            del samples[at : at + _WIDTH]
            return
        self._coarse += 1
        oldest_ms = samples[-_WIDTH] - WINDOW_MS_MAX
        while self._coarse > 1 and samples[_WIDTH] <= oldest_ms:
            del samples[:_WIDTH]
            self._coarse -= 1

    def _figures(self, at: int) -> Figures:
        return Figures(*self._samples[at + 1 : at + _WIDTH])


class Change(NamedTuple):
    """The difference between two moments, `ms` apart: messages that came in, and how much more of each there is."""

    ms: int
    entered: int
    messages: int
    waiting: int
    octets_waiting: int

    @property
    def left(self) -> int:
        """Return how many messages went out."""
        return self.entered - self.messages
