"""Pauses: operators' orders by which publishers or consumers of a queue wait, or a single consumer does.

A pause holds clients. It destroys nothing and stops no clock: messages expire, length limits count, dead letters and
delayed messages that are due still come in, because they have nowhere else to wait. The order of a durable queue is
kept with its definition. Does not know how a session waits, nor who wants to know.
"""

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from pybroker.core.channel.throttle import PauseCause
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.destination import Destination
    from pybroker.core.queue.queue import Queue

Mode = Literal["withhold", "refuse"]
WITHHOLD: Final = "withhold"
MODES: Final = (WITHHOLD, "refuse")


class Pause(NamedTuple):
    """An order: whom it stops, who gave it, when (`since_ms`, wall time) and why.

    Publishers are not read, so that their confirms are withheld (`withhold`), or what they publish is rejected
    (`refuse`).
    """

    publish: bool
    consume: bool
    mode: Mode
    user: str
    since_ms: int
    why: str

    @property
    def what(self) -> str:
        """Return whom it stops: publish, consume, or both with a comma between them."""
        return ",".join(word for word, held in (("publish", self.publish), ("consume", self.consume)) if held)

    @property
    def whom(self) -> str:
        """Return the same for people: publishers, consumers, or both."""
        return " and ".join(word for word, held in (("publishers", self.publish), ("consumers", self.consume)) if held)

    @property
    def publishers_mode(self) -> str:
        """Return the mode, or an empty text if it stops no publishers."""
        return self.mode if self.publish else ""


class WithheldError(Exception):
    """A method cannot be done before a queue is resumed. It is read once more then."""

    def __init__(self, cause: PauseCause) -> None:
        super().__init__(cause)
        self.cause = cause


def apply(queue: "Queue") -> None:
    """Do what the queue's order says; without one, end what the last one said."""
    order = queue.paused
    stop_publishers(queue, stop=order is not None and order.publish)
    queue.consumers.hold(held=order is not None and order.consume)
    queue.touch()
    if queue.consumers:
        queue.wake()


def stop_publishers(queue: "Queue", *, stop: bool) -> None:
    """Have publishes to the queue looked at one by one, if they are to stop; those that it held look again."""
    vhost = queue.vhost
    held = queue in vhost.paused
    if stop:
        vhost.paused[queue] = None
    elif held:
        del vhost.paused[queue]
    if stop or held:
        vhost.bump()
    if held:
        vhost.broker.pauses.look_again(vhost)


def of_row(value: "dict[str, Any]") -> Pause:
    """Return the order that a row of the definitions has. Raises LookupError, TypeError, ValueError."""
    order = Pause(**value)
    if order.mode not in MODES:
        raise ValueError(f"unknown mode of a pause {order.mode!r:.80}")
    return order


def withholding(queues: "Iterable[Destination]") -> PauseCause | None:
    """Return why a publish that reaches these has to wait; None if it need not."""
    for queue in queues:
        order = queue.paused
        if order is not None and order.publish and order.mode == WITHHOLD:
            return PauseCause(queue.vhost.name, queue.name)
    return None


def accepting(queues: "tuple[Destination, ...]") -> "tuple[Destination, ...]":
    """Return those that do not refuse what is published."""
    return tuple([queue for queue in queues if queue.paused is None or not queue.paused.publish])


def refusing(queues: "tuple[Destination, ...]") -> "tuple[Destination, ...]":
    """Return the others."""
    return tuple([queue for queue in queues if queue.paused is not None and queue.paused.publish])


def check_commit(queues: "Iterable[Destination]") -> None:
    """Look at the queues of a transaction before it is committed.

    Raises WithheldError if that has to wait, PreconditionFailed (406) if one refuses it: a commit is done whole or not.
    """
    present = [queue for queue in queues if not queue.deleted]
    cause = withholding(present)
    if cause is not None:
        raise WithheldError(cause)
    for queue in present:
        if queue.paused is not None and queue.paused.publish:
            raise PreconditionFailed(f"{queue!r} is paused: {queue.paused.why}")
