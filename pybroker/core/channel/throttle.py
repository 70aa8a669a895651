"""Throttle: why one session is not read, since when, and what it was the last times.

A cause is an alarm, which shows as `blocked`, or one of those that show as `flow`: the journal or a queue that cannot
follow, a peer that does not read its replies. Octets and limits are the business of the part that stops the session.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final


class ThrottleCause:
    """A reason not to read a session; as text it is what operators read. Holds no queue, channel or session alive."""

    __slots__ = ()
    kind: ClassVar[str] = "other"


@dataclass(frozen=True, slots=True)
class AlarmCause(ThrottleCause):
    """An alarm of any resource. `resources` are those that were short when it stopped the session."""

    kind: ClassVar[str] = "resource"
    resources: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return " & ".join(self.resources)


class JournalCause(ThrottleCause):
    """Octets that were published and are not on disk yet."""

    kind: ClassVar[str] = "journal"

    def __str__(self) -> str:
        return self.kind


class PeerCause(ThrottleCause):
    """Replies that the peer does not read."""

    kind: ClassVar[str] = "peer"

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class RepliesCause(ThrottleCause):
    """Replies of one channel that wait for the disk."""

    kind: ClassVar[str] = "replies"
    channel: int

    def __str__(self) -> str:
        return "replies that wait for the disk"


@dataclass(frozen=True, slots=True)
class QueueCause(ThrottleCause):
    """A queue whose messages leave memory more slowly than they come."""

    kind: ClassVar[str] = "queue"
    vhost: str
    name: str

    def __str__(self) -> str:
        return f"queue '{self.name}' in vhost '{self.vhost}'"


@dataclass(frozen=True, slots=True)
class PauseCause(ThrottleCause):
    """A queue that takes nothing from publishers before an operator resumes it."""

    kind: ClassVar[str] = "pause"
    vhost: str
    name: str

    def __str__(self) -> str:
        return f"the pause of queue '{self.name}' in vhost '{self.vhost}'"


@dataclass(frozen=True, slots=True)
class DelayedCause(ThrottleCause):
    """The messages of a delayed exchange, as a queue's; `text` names the exchange."""

    text: str

    def __str__(self) -> str:
        return self.text


class RemovalCause(ThrottleCause):
    """Something that is being removed; each removal is a cause of its own."""

    def __str__(self) -> str:
        return "the removal of what it needs"


class RequeueCause(ThrottleCause):
    """Very many messages that a connection acknowledged or rejected at once; each time is a cause of its own."""

    def __str__(self) -> str:
        return "the messages that it acknowledged or rejected at once"


class LoginCause(ThrottleCause):
    """The password of an open connection that is being checked anew."""

    def __str__(self) -> str:
        return "the check of its password"


class TrackingCause(ThrottleCause):
    """Publishing ids and offsets of a stream that are read back after a start; each time is a cause of its own."""

    def __str__(self) -> str:
        return "the recovery of a stream that it asked for"


RESOURCE: Final = AlarmCause()
JOURNAL: Final = JournalCause()
PEER: Final = PeerCause()
LOGIN: Final = LoginCause()

# A connection is shown in flow for so long after it was, as in RabbitMQ: who looks once would rarely see it.
FLOW_SHOWN_MS: Final = 5_000
# Most sessions are never stopped: they share these, instead of a number and a dictionary for each.
_NEVER_MS: Final = -FLOW_SHOWN_MS
_NO_CAUSES: Final[dict[ThrottleCause, int]] = {}


# Differs from RabbitMQ: since 3.7 it does not tell what blocked a connection last.
class Throttle:
    """`causes` are those of now, in the order they came, each with when (ms). The session is read while there is none.

    `last` is the cause that stopped it last, `last_at_ms` when that began; `flow_count` says how often flow did.
    """

    __slots__ = (
        "_blocked_ms",
        "_changed_at_ms",
        "_flow_ended_ms",
        "_flow_ms",
        "causes",
        "flow_count",
        "last",
        "last_at_ms",
    )

    def __init__(self) -> None:
        self.causes = _NO_CAUSES  # replaced, never changed
        self.last: ThrottleCause | None = None
        self.last_at_ms = 0
        self.flow_count = 0
        self._blocked_ms = self._flow_ms = 0
        self._changed_at_ms = 0
        self._flow_ended_ms = _NEVER_MS

    @property
    def blocked(self) -> bool:
        """Tell whether an alarm holds it."""
        return bool(self.causes) and RESOURCE in self.causes

    @property
    def paused_by(self) -> PauseCause | None:
        """Return the pause that holds it, which is one at most; None: none does."""
        return next((cause for cause in self.causes if isinstance(cause, PauseCause)), None)

    @property
    def last_by(self) -> str:
        """Return `resource` if an alarm stopped it last, `flow` if anything else did, `none` if nothing ever did."""
        if self.last is None:
            return "none"
        return "resource" if self.last == RESOURCE else "flow"

    @property
    def last_cause(self) -> str:
        """Return in a few words what stopped it last; nothing for never."""
        return "" if self.last is None else str(self.last)

    @property
    def flows(self) -> dict[ThrottleCause, int]:
        """Return the causes of now that are no alarms."""
        return {cause: since_ms for cause, since_ms in self.causes.items() if cause != RESOURCE}

    def stop(self, cause: ThrottleCause, now_ms: int) -> None:
        """Add a cause. It is the last one if nothing of its kind was in the way before."""
        if cause in self.causes:
            return
        self._count(now_ms)
        by_alarm = cause == RESOURCE
        if by_alarm or not self.causes:
            self.flow_count += not by_alarm
            self.last, self.last_at_ms = cause, now_ms
        self.causes = {**self.causes, cause: now_ms}

    def resume(self, cause: ThrottleCause, now_ms: int) -> bool:
        """Remove a cause, if it is one; tell whether it was the last."""
        if cause not in self.causes:
            return False
        self._count(now_ms)
        self.causes = {other: since_ms for other, since_ms in self.causes.items() if other != cause} or _NO_CAUSES
        if cause != RESOURCE:
            self._flow_ended_ms = now_ms
        return not self.causes

    def in_flow(self, now_ms: int) -> bool:
        """Tell whether it is held by anything but an alarm, or was until some seconds ago."""
        return len(self.causes) > self.blocked or now_ms - self._flow_ended_ms < FLOW_SHOWN_MS

    def last_age_s(self, now_ms: int) -> float | None:
        """Return how long ago it was stopped last, in seconds; None for never."""
        return None if self.last is None else (now_ms - self.last_at_ms) / 1000

    def blocked_since_ms(self) -> int:
        """Return when an alarm stopped it, which one must do now."""
        return self.causes[RESOURCE]

    def blocked_ms(self, now_ms: int) -> int:
        """Return how long alarms have held it in all."""
        return self._blocked_ms + (now_ms - self._changed_at_ms if self.blocked else 0)

    def flow_ms(self, now_ms: int) -> int:
        """Return how long anything else has held it in all; while an alarm does it is not counted."""
        return self._flow_ms + (now_ms - self._changed_at_ms if self.causes and not self.blocked else 0)

    def _count(self, now_ms: int) -> None:
        self._blocked_ms, self._flow_ms = self.blocked_ms(now_ms), self.flow_ms(now_ms)
        self._changed_at_ms = now_ms
