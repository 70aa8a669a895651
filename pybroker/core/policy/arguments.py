"""Arguments of queue.declare and basic.consume: those that each queue type takes, and the limits they come to.

`argument_values.py` says which values they may have. Texts and order are RabbitMQ's (rabbit_amqqueue). Redeclarations
are compared in `equivalence.py`; a policy's values come to limits here as well, in the arguments' place.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.policy.argument_values import (
    CONSUME_CHECKS,
    DEAD_LETTER_EXCHANGE,
    DECLARE_CHECKS,
    FILTER_SIZE,
    QUEUE_TYPE,
    SEGMENT_SIZE,
    Check,
    max_age_ms,
)
from pybroker.core.policy.limits import DROP_HEAD, OVERFLOWS, REJECT_PUBLISH, QueueLimits
from pybroker.core.policy.retry import retry_of
from pybroker.core.reply_text import describe, field_type
from pybroker.entries_run import BLOOM_OCTETS
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
    from pybroker.wire.table import Table

# Of streams (rabbit_stream_queue).
SEGMENT_OCTETS_MAX: Final = 3_000_000_000
FILTER_OCTETS: Final = range(16, 256)

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
    _check_values(queue, arguments, {QUEUE_TYPE: DECLARE_CHECKS[QUEUE_TYPE]}, (QUEUE_TYPE,))
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
    """Return the x-priority of checked consumer arguments, 0 when absent."""
    value: int = arguments.get("x-priority", 0)
    return value


def check_queue_properties(
    vhost: "VHost", name: str, queue_type: str, *, durable: bool, exclusive: bool, auto_delete: bool
) -> None:
    """Refuse properties that a queue type cannot have. Raises PreconditionFailed (406)."""
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
        age_max_ms=max_age_ms(arguments.get("x-max-age")),
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
