"""Throttle: why one session is not read, since when, and what it was the last times (E6, E7).

There are two kinds: an alarm (`resource`), which shows as `blocked`, and the rest, which show as `flow`: the journal or
a queue that cannot follow, a peer that does not read its replies. Octets and limits are the business of who stops it.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Causes; others are what cannot follow itself: a queue, a channel's line of replies.
JOURNAL: Final = "journal"
PEER: Final = "peer"
RESOURCE: Final = "resource"

# A connection is shown in flow for so long after it was, as in RabbitMQ: who looks once would rarely see it.
FLOW_SHOWN_MS: Final = 5_000


# Differs from RabbitMQ: since 3.7 it does not tell what blocked a connection last (E7).
class Throttle:
    """`causes` are those of now, in the order they came, each with when (ms). The session is read while there is none.

    `last_by` is `none`, `flow` or `resource`, `last_cause` says which in a few words, `last_at_ms` when it began;
    `flow_count` says how often flow did.
    """

    __slots__ = (
        "_blocked_ms",
        "_changed_at_ms",
        "_flow_ended_ms",
        "_flow_ms",
        "causes",
        "flow_count",
        "last_at_ms",
        "last_by",
        "last_cause",
    )

    def __init__(self) -> None:
        self.causes: dict[object, int] = {}
        self.last_by = "none"
        self.last_cause = ""
        self.last_at_ms = 0
        self.flow_count = 0
        self._blocked_ms = self._flow_ms = 0
        self._changed_at_ms = 0
        self._flow_ended_ms = -FLOW_SHOWN_MS

    @property
    def blocked(self) -> bool:
        """Tell whether an alarm holds it."""
        return RESOURCE in self.causes

    def stop(self, cause: object, now_ms: int, describe: "Callable[[], str]") -> None:
        """Add a cause. What `describe` says of it is kept if nothing of its kind was in the way before."""
        if cause in self.causes:
            return
        self._count(now_ms)
        by = "resource" if cause is RESOURCE else "flow"
        if by == "resource" or not self.causes:
            self.flow_count += by == "flow"
            self.last_by, self.last_cause, self.last_at_ms = by, describe(), now_ms
        self.causes[cause] = now_ms

    def resume(self, cause: object, now_ms: int) -> bool:
        """Remove a cause, if it is one; tell whether it was the last."""
        if cause not in self.causes:
            return False
        self._count(now_ms)
        del self.causes[cause]
        if cause is not RESOURCE:
            self._flow_ended_ms = now_ms
        return not self.causes

    def in_flow(self, now_ms: int) -> bool:
        """Tell whether it is held by anything but an alarm, or was until some seconds ago."""
        return len(self.causes) > self.blocked or now_ms - self._flow_ended_ms < FLOW_SHOWN_MS

    def last_age_s(self, now_ms: int) -> float | None:
        """Return how long ago it was stopped last, in seconds; None for never."""
        return None if self.last_by == "none" else (now_ms - self.last_at_ms) / 1000

    def blocked_ms(self, now_ms: int) -> int:
        """Return how long alarms have held it in all."""
        return self._blocked_ms + (now_ms - self._changed_at_ms if self.blocked else 0)

    def flow_ms(self, now_ms: int) -> int:
        """Return how long anything else has held it in all; while an alarm does it is not counted."""
        return self._flow_ms + (now_ms - self._changed_at_ms if self.causes and not self.blocked else 0)

    def _count(self, now_ms: int) -> None:
        self._blocked_ms, self._flow_ms = self.blocked_ms(now_ms), self.flow_ms(now_ms)
        self._changed_at_ms = now_ms
