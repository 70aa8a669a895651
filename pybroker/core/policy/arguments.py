"""Arguments of queue.declare and basic.consume: those of each queue type, valid values, resulting limits.

A table per use, read from top to bottom, since the first fault found is the one that a client sees. Texts and order are
RabbitMQ's (rabbit_amqqueue). Redeclarations are compared in `equivalence.py`; a policy's values come to limits here as
well, in the arguments' place.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.policy.age import age_ms_of
from pybroker.core.policy.limits import DROP_HEAD, OVERFLOWS, REJECT_PUBLISH, QueueLimits
from pybroker.core.policy.retry import DELAY_MS_MAX, RETRY_TYPES, retry_of, steps_fault
from pybroker.core.reply_text import describe, field_type, printed, printed_text, quoted
from pybroker.entries_run import BLOOM_OCTETS
from pybroker.errors import PreconditionFailed
from pybroker.wire.value import FIELD_TYPES

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
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
# Of streams (rabbit_stream_queue).
SEGMENT_OCTETS_MAX: Final = 3_000_000_000
FILTER_OCTETS: Final = range(16, 256)
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


def _message_ttl(kind: str, value: Any, arguments: "Table") -> str | None:
    fault = _non_negative(kind, value, arguments)
    if fault is None and value > EXPIRY_MS_MAX:
        return f"{{value_too_large,{value}}}"
    return fault


def _expires(kind: str, value: Any, arguments: "Table") -> str | None:
    return _positive(kind, value, arguments) or _message_ttl(kind, value, arguments)


def _priority_max(kind: str, value: Any, arguments: "Table") -> str | None:
    fault = _non_negative(kind, value, arguments)
    if fault is None and value > PRIORITY_MAX:
        return f"{{max_value_exceeded,{value}}}"
    return fault


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


def _retry_delay(kind: str, value: Any, arguments: "Table") -> str | None:
    fault = _positive(kind, value, arguments)
    if fault is None and value > DELAY_MS_MAX:
        return f"{{value_too_large,{value}}}"
    return fault


def _retry_delays(kind: str, value: Any, arguments: "Table") -> str | None:
    return _string(kind, value, arguments) or steps_fault(value)


def _queue_version(kind: str, value: Any, arguments: "Table") -> str | None:
    fault = _non_negative(kind, value, arguments)
    if fault is None and value not in (1, 2):
        return printed_text(f"unsupported queue version '{value}'")
    return fault


def _max_age(kind: str, value: Any, arguments: "Table") -> str | None:
    # Differs from RabbitMQ: with a text that does not begin with a digit the declaration fails there with 541.
    return _string(kind, value, arguments) or (None if _age_ms(value) is not None else "invalid_max_age")


def _stream_offset(kind: str, value: Any, arguments: "Table") -> str | None:  # noqa: ARG001 - a Check
    # Differs from RabbitMQ: values of other types, and texts that do not begin with a digit, fail there with 541.
    if kind in INTEGERS or kind == "timestamp":
        return None
    if kind == "longstr" and (value in OFFSETS or _age_ms(value) is not None):
        return None
    if kind == "binary" and value in map(str.encode, OFFSETS):
        return None
    return f"{{invalid_stream_offset_arg,{{{kind},{printed(value)}}}}}"


def _stream_filter(kind: str, value: Any, arguments: "Table") -> str | None:  # noqa: ARG001 - a Check
    # Differs from RabbitMQ: it ignores filters that are no text, and the consumer gets everything.
    kinds = [FIELD_TYPES[letter] for letter in value.letters()] if kind == "array" else [kind]
    return next((f"{{unacceptable_type,{each}}}" for each in kinds if each != "longstr"), None)


def _age_ms(value: Any) -> int | None:
    return age_ms_of(value) if isinstance(value, str) else None


_queue_type: Final = _one_of(QUEUE_TYPES, "unsupported queue type '{}'")

# In RabbitMQ's order (rabbit_amqqueue:declare_args/0).
DECLARE_CHECKS: Final[dict[str, Check]] = {
    "x-expires": _expires,
    "x-message-ttl": _message_ttl,
    DEAD_LETTER_EXCHANGE: _string,
    "x-dead-letter-routing-key": _dead_letter_routing_key,
    "x-dead-letter-strategy": _one_of(("at-most-once", "at-least-once"), "invalid_dlx_strategy"),
    "x-max-length": _non_negative,
    "x-max-length-bytes": _non_negative,
    "x-max-in-memory-length": _non_negative,
    "x-max-in-memory-bytes": _non_negative,
    "x-max-priority": _priority_max,
    "x-overflow": _one_of(tuple(OVERFLOWS), "invalid_overflow"),
    "x-queue-mode": _one_of(("default", "lazy"), "unsupported queue mode '{}'"),
    "x-queue-version": _queue_version,
    "x-single-active-consumer": _boolean,
    QUEUE_TYPE: _queue_type,
    "x-quorum-initial-group-size": _positive,
    # Checked since RabbitMQ 4.0; before, a string here took the queue process down.
    "x-delivery-limit": _integer,
    "x-queue-leader-locator": _one_of(
        ("client-local", "balanced", "random", "least-leaders"), "invalid_queue_locator_arg"
    ),
    "x-consumer-timeout": _message_ttl,
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

# Differs from RabbitMQ: only its quorum queues take the first three, and none the last.
RETRY_ARGUMENTS: Final = ("x-delayed-retry-type", "x-delayed-retry-min", "x-delayed-retry-max", "x-retry-delays")

# Which arguments a type takes, in the order in which a redeclaration compares them (each type's capabilities/0).
DECLARE_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "classic": (
        "x-expires",
        "x-message-ttl",
        DEAD_LETTER_EXCHANGE,
        "x-dead-letter-routing-key",
        "x-max-length",
        "x-max-length-bytes",
        "x-max-priority",
        "x-overflow",
        "x-queue-mode",
        "x-queue-version",
        "x-single-active-consumer",
        QUEUE_TYPE,
        "x-queue-master-locator",
        # Differs from RabbitMQ: only its quorum queues take these two.
        "x-delivery-limit",
        "x-dead-letter-strategy",
        *RETRY_ARGUMENTS,
    ),
    "quorum": (
        DEAD_LETTER_EXCHANGE,
        "x-dead-letter-routing-key",
        "x-dead-letter-strategy",
        "x-expires",
        "x-max-length",
        "x-max-length-bytes",
        "x-max-in-memory-length",
        "x-max-in-memory-bytes",
        "x-overflow",
        "x-single-active-consumer",
        QUEUE_TYPE,
        "x-quorum-initial-group-size",
        "x-delivery-limit",
        "x-message-ttl",
        "x-queue-leader-locator",
        *RETRY_ARGUMENTS,
    ),
    "stream": (
        "x-max-length-bytes",
        QUEUE_TYPE,
        "x-max-age",
        SEGMENT_SIZE,
        "x-initial-cluster-size",
        "x-queue-leader-locator",
    ),
}
_KNOWN_DECLARE: Final = frozenset[str]().union(*DECLARE_ARGUMENTS.values())
# Arguments that no redeclaration compares, and that are unknown, not wrong, where another type has them.
_UNCOMPARED: Final[dict[str, tuple[str, ...]]] = {
    "classic": ("x-consumer-timeout",),
    "quorum": ("x-consumer-timeout",),
    "stream": ("x-consumer-timeout", FILTER_SIZE),
}

CONSUME_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "classic": ("x-cancel-on-ha-failover", "x-priority", "x-credit"),
    "quorum": ("x-priority", "x-credit"),
    "stream": (
        *("x-stream-offset", "x-stream-filter", "x-stream-match-unfiltered", "x-stream-automatic-offset-tracking"),
        "x-credit",
    ),
}
# RabbitMQ does not list filters, nor know of tracking, so that other types ignore them.
_KNOWN_CONSUME: Final = frozenset[str]().union(*CONSUME_ARGUMENTS.values()) - {
    "x-stream-filter",
    "x-stream-match-unfiltered",
    "x-stream-automatic-offset-tracking",
}

# Taken and kept, as RabbitMQ does, but there is nothing here that they could change.
_NO_EFFECT: Final = frozenset(
    {
        "x-queue-mode",
        "x-queue-version",
        "x-queue-master-locator",
        "x-queue-leader-locator",
        "x-quorum-initial-group-size",
        "x-max-in-memory-length",
        "x-max-in-memory-bytes",
        "x-initial-cluster-size",
    }
)


def queue_type_of(arguments: "Table") -> str:
    """Return the type that arguments ask for, whether it exists or not; `classic` when they do not say."""
    value = arguments.get(QUEUE_TYPE, "classic")
    return value if isinstance(value, str) else "classic"


def check_declare_arguments(vhost: "VHost", name: str, arguments: "Table") -> str:
    """Check the arguments of a queue that is about to be made; return its type.

    Raises PreconditionFailed (406): `invalid arg 'x-message-ttl' for queue 'q' in vhost '/': {value_negative,-1}`.
    """
    queue = describe("queue", name, vhost.name)
    _check_values(queue, arguments, {QUEUE_TYPE: _queue_type}, (QUEUE_TYPE,))
    queue_type = queue_type_of(arguments)
    mine = DECLARE_ARGUMENTS[queue_type] + _UNCOMPARED[queue_type]
    _check_values(queue, arguments, DECLARE_CHECKS, mine)
    _check_names(queue, queue_type, arguments, _KNOWN_DECLARE, mine)
    for key in arguments:
        if key in _NO_EFFECT:
            text = f"argument {key!r:.130} of {queue:.300} has no effect here"
        elif key not in mine:
            text = f"argument {key!r:.130} of {queue:.300} is unknown: stored, but without effect"
        else:
            continue
        vhost.broker.warn("queue.argument_ignored", f"queue argument {key}", text, vhost=vhost.name, queue=name)
    return queue_type


def check_consume_arguments(queue: "Queue", arguments: "Table") -> None:
    """Check the arguments of a new consumer of `queue`. Raises PreconditionFailed (406), as above."""
    if not arguments:
        return
    name = describe("queue", queue.name, queue.vhost.name)
    queue_type = queue.limits.queue_type
    _check_values(name, arguments, CONSUME_CHECKS, CONSUME_ARGUMENTS[queue_type])
    _check_names(name, queue_type, arguments, _KNOWN_CONSUME, CONSUME_ARGUMENTS[queue_type])


def consumer_priority(arguments: "Table") -> int:
    """Return the x-priority of checked consumer arguments, 0 when absent (F18)."""
    value: int = arguments.get("x-priority", 0)
    return value


def check_queue_properties(
    vhost: "VHost", name: str, queue_type: str, *, durable: bool, exclusive: bool, auto_delete: bool
) -> None:
    """Refuse properties that a queue type cannot have: F23, F28. Raises PreconditionFailed (406)."""
    if queue_type == "classic":
        return
    for wrong, what in ((auto_delete, "auto-delete"), (exclusive, "exclusive-owner"), (not durable, "non-durable")):
        if wrong:
            text = f"invalid property '{what}' for {describe('queue', name, vhost.name)}"
            raise PreconditionFailed(text)


def check_stream_sizes(queue_type: str, arguments: "Table") -> None:
    """Refuse sizes of a stream that are out of range, after its properties. Raises PreconditionFailed (406)."""
    if queue_type == "stream":
        if arguments.get(SEGMENT_SIZE, 0) > SEGMENT_OCTETS_MAX:
            raise PreconditionFailed(f"Exceeded max value for {SEGMENT_SIZE}")
        if FILTER_SIZE in arguments and arguments[FILTER_SIZE] not in FILTER_OCTETS:
            raise PreconditionFailed(f"Invalid value for  {FILTER_SIZE}")


def queue_limits(arguments: Mapping[str, Any], queue_type: str) -> QueueLimits:
    """Return what checked arguments come to, or a policy's values in their place: one object for all that are equal."""
    return _shared(_limits(arguments, queue_type))


@lru_cache(1_024)
def _shared(limits: QueueLimits) -> QueueLimits:
    return limits


def _limits(arguments: Mapping[str, Any], queue_type: str) -> QueueLimits:
    delivery_limit = arguments.get("x-delivery-limit")
    if delivery_limit is not None and delivery_limit < 0:
        delivery_limit = None
    retry = retry_of(arguments)
    if retry is not None and retry.steps:
        delivery_limit = len(retry.steps) if delivery_limit is None else min(delivery_limit, len(retry.steps))
    overflow = OVERFLOWS.get(arguments.get("x-overflow", ""), DROP_HEAD)
    return QueueLimits(
        message_ttl_ms=arguments.get("x-message-ttl"),
        expires_ms=arguments.get("x-expires"),
        length_max=arguments.get("x-max-length"),
        octets_max=arguments.get("x-max-length-bytes"),
        overflow=overflow,
        dead_letter_exchange=arguments.get(DEAD_LETTER_EXCHANGE),
        dead_letter_routing_key=arguments.get("x-dead-letter-routing-key"),
        priority_max=arguments.get("x-max-priority", 0),
        single_active_consumer=arguments.get("x-single-active-consumer", False),
        delivery_limit=delivery_limit,
        queue_type=queue_type,
        consumer_timeout_ms=arguments.get("x-consumer-timeout"),
        at_least_once=(
            arguments.get("x-dead-letter-strategy") == "at-least-once"
            and DEAD_LETTER_EXCHANGE in arguments
            and overflow == REJECT_PUBLISH
        ),
        retry=retry,
        age_max_ms=_age_ms(arguments.get("x-max-age")),
        segment_octets_max=arguments.get(SEGMENT_SIZE),
        filter_octets=arguments.get(FILTER_SIZE, BLOOM_OCTETS),
    )


def _check_values(queue: str, arguments: "Table", checks: dict[str, Check], keys: tuple[str, ...]) -> None:
    for key, check in checks.items():
        if key not in arguments or key not in keys:
            continue
        fault = check(field_type(arguments, key), arguments[key], arguments)
        if fault is not None:
            text = f"invalid arg '{key}' for {queue}: {fault}"
            raise PreconditionFailed(text)


def _check_names(queue: str, queue_type: str, arguments: "Table", known: frozenset[str], mine: tuple[str, ...]) -> None:
    """Refuse arguments that belong to other queue types only; unknown ones pass."""
    for key in arguments:
        if key in known and key not in mine:
            text = f"invalid arg '{key}' for {queue} of queue type rabbit_{queue_type}_queue"
            raise PreconditionFailed(text)
