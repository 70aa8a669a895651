"""Equivalence of a redeclaration: the arguments that must be equal, their order, and the error if one is not.

For queues and exchanges alike (rabbit_amqqueue:assert_equivalence, rabbit_misc:assert_args_equivalence).
"""

from typing import TYPE_CHECKING, Any, Final

from pybroker.core.auth.access import resource_locked
from pybroker.core.policy.argument_values import INTEGERS, QUEUE_TYPE
from pybroker.core.policy.arguments import DECLARE_ARGUMENTS
from pybroker.core.reply_text import describe, field_type, quoted
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.wire.table import Table

# All that is compared where a quorum queue is declared again as a classic one, if the configuration permits that.
_RELAXED: Final = (
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-expires",
    "x-max-length",
    "x-max-length-bytes",
    "x-single-active-consumer",
    "x-message-ttl",
)

_INTEGER_CLASS: Final = INTEGERS | {"decimal"}


def assert_equivalent(
    queue: "Queue", *, durable: bool, auto_delete: bool, owner: object | None, arguments: "Table"
) -> None:
    """Compare a redeclaration with the queue that exists: exclusivity, durable, auto_delete, arguments.

    `owner` is the declaring session if the declaration is exclusive, else None.

    Raises ResourceLocked (405) and PreconditionFailed (406).
    """
    name = describe("queue", queue.name, queue.vhost.name)
    relaxed = queue.vhost.broker.settings.relaxed_redeclaration
    if relaxed and queue.type == "quorum" and arguments.get(QUEUE_TYPE) == "classic":
        assert_same_arguments(name, queue.arguments, arguments, _RELAXED)
        return
    if queue.owner is not owner:
        raise resource_locked(queue)
    assert_same_field(name, "durable", queue.durable, durable)
    assert_same_field(name, "auto_delete", queue.auto_delete, auto_delete)
    assert_same_arguments(name, queue.arguments, arguments, DECLARE_ARGUMENTS[queue.limits.queue_type])


def assert_same_field(resource: str, key: str, current: Any, received: Any) -> None:
    """Compare one property of a redeclaration. Raises PreconditionFailed (406)."""
    if type(current) is not type(received) or current != received:
        raise _inequivalent(resource, key, _plain(received), _plain(current))


def assert_same_arguments(resource: str, current: "Table", received: "Table", keys: tuple[str, ...]) -> None:
    """Compare the arguments named `keys`, in this order; all integer types are one. Raises PreconditionFailed (406)."""
    for key in keys:
        if key in current and key in received:
            if not _same_class(field_type(current, key), field_type(received, key)) or current[key] != received[key]:
                assert_same_field(resource, key, current[key], received[key])
        elif key in current or key in received:
            one = current if key in current else received
            if key == QUEUE_TYPE and one[key] == "classic":
                continue
            raise _inequivalent(resource, key, _typed(received, key), _typed(current, key))


def _inequivalent(resource: str, key: str, received: str, current: str) -> PreconditionFailed:
    return PreconditionFailed(f"inequivalent arg '{key}' for {resource}: received {received} but current is {current}")


def _plain(value: Any) -> str:
    return "none" if value is None else f"'{quoted(value)}'"


def _typed(arguments: "Table", key: str) -> str:
    if key not in arguments:
        return "none"
    return f"the value '{quoted(arguments[key])}' of type '{field_type(arguments, key)}'"


def _same_class(left: str, right: str) -> bool:
    """Tell whether two field types are compared by value (rabbit_misc:type_class/1)."""
    if left in _INTEGER_CLASS:
        return right in _INTEGER_CLASS
    if left in ("float", "double"):
        return right in ("float", "double")
    return left == right
