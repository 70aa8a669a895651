"""Values of arguments of queue.declare and basic.consume: a check for each, whatever the type of the queue.

Tables from top to bottom, since the first fault found is the one that a client sees. Texts and order are RabbitMQ's
(rabbit_amqqueue).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.policy.age import age_ms_of
from pybroker.core.policy.limits import OVERFLOWS
from pybroker.core.policy.retry import DELAY_MS_MAX, RETRY_TYPES, steps_fault
from pybroker.core.reply_text import printed, printed_text, quoted
from pybroker.wire.value import FIELD_TYPES

if TYPE_CHECKING:
    from pybroker.wire.table import Table

QUEUE_TYPE: Final = "x-queue-type"
SEGMENT_SIZE: Final = "x-stream-max-segment-size-bytes"
FILTER_SIZE: Final = "x-stream-filter-size-bytes"
DEAD_LETTER_EXCHANGE: Final = "x-dead-letter-exchange"

# Types a queue can be declared with.
QUEUE_TYPES: Final = ("classic", "quorum", "stream")

# Ten years: rabbit_misc:check_expiry.
EXPIRY_MS_MAX: Final = 315_360_000_000
PRIORITY_MAX: Final = 255
# A shortstr (AMQP §4.2.5.3).
KEY_OCTETS_MAX: Final = 255
# Of consumers of streams (rabbit_stream_queue).
OFFSETS: Final = ("first", "last", "next")

INTEGERS: Final = frozenset({"byte", "short", "signedint", "long", "unsignedbyte", "unsignedshort", "unsignedint"})

# A check gets type name and value of one argument, and all arguments; it returns the fault as an Erlang term, or None.
Check = Callable[[str, Any, "Table"], "str | None"]


def _integer(kind: str, value: Any, arguments: "Table") -> str | None:  # noqa: ARG001 - a Check
    return None if kind in INTEGERS else printed_text(f"expected integer, got {kind}")


def _boolean(kind: str, value: Any, arguments: "Table") -> str | None:  # noqa: ARG001 - a Check
    return None if kind == "bool" else f"{{unacceptable_type,{kind}}}"


def _non_negative(kind: str, value: Any, arguments: "Table") -> str | None:
    fault = _integer(kind, value, arguments)
    if fault is None and value < 0:
        return f"{{value_negative,{value}}}"
    return fault


def _positive(kind: str, value: Any, arguments: "Table") -> str | None:
    fault = _non_negative(kind, value, arguments)
    if fault is None and value == 0:
        return "{value_zero,0}"
    return fault


def _at_most(most: int, check: Check, fault: str = "value_too_large") -> Check:
    """Return a check for an integer that passes another check, and is not too large."""

    def bounded(kind: str, value: Any, arguments: "Table") -> str | None:
        return check(kind, value, arguments) or (f"{{{fault},{value}}}" if value > most else None)

    return bounded


def _string(kind: str, value: Any, arguments: "Table") -> str | None:  # noqa: ARG001 - a Check
    return None if kind == "longstr" else f"{{unacceptable_type,{kind}}}"


def _dead_letter_routing_key(kind: str, value: Any, arguments: "Table") -> str | None:
    fault = _string(kind, value, arguments)
    if fault is None and DEAD_LETTER_EXCHANGE not in arguments:
        return "routing_key_but_no_dlx_defined"
    # Differs from RabbitMQ: it takes what fits no shortstr; who consumes a dead letter then loses its connection.
    if fault is None and (not isinstance(value, str) or len(value.encode()) > KEY_OCTETS_MAX):
        return "{unacceptable_value,no_routing_key}"
    return fault


def _one_of(names: tuple[str, ...], fault: str) -> Check:
    """Return a check for a string out of `names`; `{}` in `fault` is the string that was sent."""

    def check(kind: str, value: Any, arguments: "Table") -> str | None:
        if kind != "longstr":
            return _string(kind, value, arguments)
        if value in names:
            return None
        return printed_text(fault.format(quoted(value))) if "{}" in fault else fault

    return check


def _retry_delays(kind: str, value: Any, arguments: "Table") -> str | None:
    return _string(kind, value, arguments) or steps_fault(value)


def _queue_version(kind: str, value: Any, arguments: "Table") -> str | None:
    fault = _non_negative(kind, value, arguments)
    if fault is None and value not in (1, 2):
        return printed_text(f"unsupported queue version '{value}'")
    return fault


def max_age_ms(value: Any) -> int | None:
    """Return what a text like `7D` comes to in milliseconds; None for everything else."""
    return age_ms_of(value) if isinstance(value, str) else None


def _max_age(kind: str, value: Any, arguments: "Table") -> str | None:
    # Differs from RabbitMQ: with a text that does not begin with a digit the declaration fails there with 541.
    return _string(kind, value, arguments) or (None if max_age_ms(value) is not None else "invalid_max_age")


def _stream_offset(kind: str, value: Any, arguments: "Table") -> str | None:  # noqa: ARG001 - a Check
    # Differs from RabbitMQ: values of other types, and texts that do not begin with a digit, fail there with 541.
    if kind in INTEGERS or kind == "timestamp":
        return None
    if kind == "longstr" and (value in OFFSETS or max_age_ms(value) is not None):
        return None
    if kind == "binary" and value in map(str.encode, OFFSETS):
        return None
    return f"{{invalid_stream_offset_arg,{{{kind},{printed(value)}}}}}"


def _stream_filter(kind: str, value: Any, arguments: "Table") -> str | None:  # noqa: ARG001 - a Check
    # Differs from RabbitMQ: it ignores filters that are no text, and the consumer gets everything.
    kinds = [FIELD_TYPES[letter] for letter in value.letters()] if kind == "array" else [kind]
    return next((f"{{unacceptable_type,{each}}}" for each in kinds if each != "longstr"), None)


_period: Final = _at_most(EXPIRY_MS_MAX, _non_negative)
_retry_delay: Final = _at_most(DELAY_MS_MAX, _positive)

# In RabbitMQ's order (rabbit_amqqueue:declare_args/0).
DECLARE_CHECKS: Final[dict[str, Check]] = {
    "x-expires": _at_most(EXPIRY_MS_MAX, _positive),
    "x-message-ttl": _period,
    DEAD_LETTER_EXCHANGE: _string,
    "x-dead-letter-routing-key": _dead_letter_routing_key,
    "x-dead-letter-strategy": _one_of(("at-most-once", "at-least-once"), "invalid_dlx_strategy"),
    "x-max-length": _non_negative,
    "x-max-length-bytes": _non_negative,
    "x-max-in-memory-length": _non_negative,
    "x-max-in-memory-bytes": _non_negative,
    "x-max-priority": _at_most(PRIORITY_MAX, _non_negative, "max_value_exceeded"),
    "x-overflow": _one_of(tuple(OVERFLOWS), "invalid_overflow"),
    "x-queue-mode": _one_of(("default", "lazy"), "unsupported queue mode '{}'"),
    "x-queue-version": _queue_version,
    "x-single-active-consumer": _boolean,
    QUEUE_TYPE: _one_of(QUEUE_TYPES, "unsupported queue type '{}'"),
    "x-quorum-initial-group-size": _positive,
    # Checked since RabbitMQ 4.0; before, a string here took the queue process down.
    "x-delivery-limit": _integer,
    "x-queue-leader-locator": _one_of(
        ("client-local", "balanced", "random", "least-leaders"), "invalid_queue_locator_arg"
    ),
    "x-consumer-timeout": _period,
    "x-max-age": _max_age,
    SEGMENT_SIZE: _non_negative,
    "x-initial-cluster-size": _positive,
    FILTER_SIZE: _non_negative,
    # Differs from RabbitMQ: it takes any value of these, and delays nothing if one is wrong.
    "x-delayed-retry-type": _one_of(RETRY_TYPES, "invalid delayed retry type {}"),
    "x-delayed-retry-min": _retry_delay,
    "x-delayed-retry-max": _retry_delay,
    "x-retry-delays": _retry_delays,
}

CONSUME_CHECKS: Final[dict[str, Check]] = {
    "x-priority": _integer,
    "x-cancel-on-ha-failover": _boolean,
    "x-stream-offset": _stream_offset,
    "x-stream-filter": _stream_filter,
    "x-stream-match-unfiltered": _boolean,
    "x-stream-automatic-offset-tracking": _boolean,
}
