"""Keys of policy definitions: their valid values, how an operator's is merged with a user's, and which have effect.

A table, with RabbitMQ's texts (rabbit_policies, rabbit_mirror_queue_misc and the validators of its plugins).
`policy.py` applies the merged values to a queue.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from pybroker.core.policy.age import age_ms_of
from pybroker.core.policy.argument_values import EXPIRY_MS_MAX, KEY_OCTETS_MAX
from pybroker.core.policy.arguments import FILTER_OCTETS, SEGMENT_OCTETS_MAX
from pybroker.core.policy.limits import OVERFLOWS
from pybroker.core.policy.retry import DELAY_MS_MAX, RETRY_TYPES, steps_fault
from pybroker.core.reply_text import printed_json

# In milliseconds.
HEAD_AGE_TARGET: Final = "head-age-target"
TIME_TO_CONSUME_TARGET: Final = "time-to-consume-target"

Definition = Mapping[str, Any]
Check = Callable[[Any], bool]
Merge = Callable[[Any, Any], Any]


class Key(NamedTuple):
    """One key: the check of its values, the error of a wrong one, and how two values are merged.

    `{}` in `fault` is the value, as `told` prints it. Without `merge` an operator policy cannot have the
    key. One without `effect` is taken and kept as RabbitMQ does, but there is nothing here that it could change.
    """

    check: Check
    fault: str
    merge: Merge | None = None
    effect: bool = True
    told: Callable[[Any], str | None] = printed_json


def _whole(minimum: int = 0, maximum: int | None = None) -> Check:
    def check(value: Any) -> bool:
        return type(value) is int and value >= minimum and (maximum is None or value <= maximum)

    return check


def _one_of(*values: Any) -> Check:
    return lambda value: any(type(value) is type(each) and value == each for each in values)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _routing_key(value: Any) -> bool:
    # Differs from RabbitMQ: it takes what fits no shortstr; who consumes a dead letter then loses its connection.
    return isinstance(value, str) and len(value.encode()) <= KEY_OCTETS_MAX


def _age(value: Any) -> bool:
    return isinstance(value, str) and age_ms_of(value) is not None


def lower_limit(one: int, other: int) -> int:
    """Return the lower of two limits that are not set where they are negative."""
    return max(one, other) if one < 0 or other < 0 else min(one, other)


def _operators(_users: Any, operators: Any) -> Any:
    return operators


# Differs from RabbitMQ: it takes times of any length, and fails in the queue with those above ten years.
_time: Final = _whole(0, EXPIRY_MS_MAX)

KEYS: Final[dict[str, Key]] = {
    "alternate-exchange": Key(_text, "{} is not a valid alternate exchange name"),
    "consumer-timeout": Key(_time, "{} is not a valid consumer timeout"),
    "dead-letter-exchange": Key(_text, "{} is not a valid dead letter exchange name"),
    "dead-letter-routing-key": Key(_routing_key, "{} is not a valid dead letter routing key"),
    "dead-letter-strategy": Key(_one_of("at-most-once", "at-least-once"), "{} is not a valid dead letter strategy"),
    # Negative ones, unlimited since RabbitMQ 4.0, are none yet in 3.13 (rabbit_policies.erl, validate_policy0).
    "delivery-limit": Key(_whole(), "{} is not a valid delivery limit", lower_limit),
    "expires": Key(_whole(1, EXPIRY_MS_MAX), "{} is not a valid queue expiry", min),
    "max-length": Key(_whole(), "{} is not a valid maximum length", min),
    "max-length-bytes": Key(_whole(), "{} is not a valid maximum length in bytes", min),
    "message-ttl": Key(_time, "{} is not a valid message TTL", min),
    "overflow": Key(_one_of(*OVERFLOWS), "{} is not a valid overflow value", _operators),
    "delayed-retry-type": Key(
        _one_of(*RETRY_TYPES),
        "{} is not a valid delayed retry type. Must be one of: all, failed, returned, disabled",
        _operators,
    ),
    "delayed-retry-min": Key(
        _whole(1, DELAY_MS_MAX), "{} is not a valid delayed retry minimum delay. Must be a positive integer", max
    ),
    "delayed-retry-max": Key(
        _whole(1, DELAY_MS_MAX), "{} is not a valid delayed retry maximum delay. Must be a positive integer", min
    ),
    "retry-delays": Key(
        lambda value: steps_fault(value) is None,
        "{}",
        _operators,
        told=steps_fault,
    ),
    # Differs from RabbitMQ: it has no such keys. Telemetry and its reports look at these; queues do not.
    HEAD_AGE_TARGET: Key(_whole(1), "{} is not a valid target for the age of the head", min),
    TIME_TO_CONSUME_TARGET: Key(_whole(1), "{} is not a valid target for the time to consume", min),
    # Without effect, of queues here.
    "max-in-memory-bytes": Key(_whole(), "{} is not a valid maximum memory in bytes", min, effect=False),
    "max-in-memory-length": Key(_whole(), "{} is not a valid maximum memory in bytes", min, effect=False),
    "queue-mode": Key(_one_of("default", "lazy"), "{} is not a valid queue-mode value", effect=False),
    "queue-version": Key(_one_of(1, 2), "{} is not a valid queue-version value", _operators, effect=False),
    # Of clusters.
    "initial-cluster-size": Key(_whole(), "{} is not a valid cluster size", effect=False),
    "queue-leader-locator": Key(
        _one_of("client-local", "balanced", "random", "least-leaders"),
        "{} is not a valid queue leader locator value",
        effect=False,
    ),
    "queue-master-locator": Key(
        _one_of("min-masters", "client-local", "random"), "{} invalid queue-master-locator value", effect=False
    ),
    "target-group-size": Key(_whole(1), "{} is not a valid qq target count value", max, effect=False),
    # Of streams.
    "max-age": Key(_age, "{} is not a valid max age: a number with Y, M, D, h, m or s, such as 7D"),
    "stream-filter-size-bytes": Key(
        lambda value: type(value) is int and value in FILTER_OCTETS,
        "{} is not a valid filter size. Valid range is 16-255",
    ),
    "stream-max-segment-size-bytes": Key(_whole(0, SEGMENT_OCTETS_MAX), "{} is not a valid segment size"),
    # Of plugins.
    "federation-upstream": Key(_text, "{} is not a valid federation upstream name", effect=False),
    "federation-upstream-pattern": Key(_text, "{} is not a valid federation upstream pattern", effect=False),
    "federation-upstream-set": Key(_text, "{} is not a valid federation upstream set name", effect=False),
    "routing-key": Key(_text, "{} is not a valid routing key", effect=False),
    "shards-per-node": Key(_whole(0), "{} is not a valid number of shards per node", effect=False),
    # Of mirrored queues; these hang together, and are checked in `_mirroring_fault`.
    "ha-mode": Key(_one_of("all", "exactly", "nodes"), "{} is not a valid ha-mode value", _operators, effect=False),
    "ha-params": Key(lambda _: True, "", _operators, effect=False),
    "ha-promote-on-failure": Key(
        _one_of("always", "when-synced"),
        'ha-promote-on-failure must be "always" or "when-synced", got {}',
        effect=False,
    ),
    "ha-promote-on-shutdown": Key(
        _one_of("always", "when-synced"),
        'ha-promote-on-shutdown must be "always" or "when-synced", got {}',
        effect=False,
    ),
    "ha-sync-batch-size": Key(_whole(1), "ha-sync-batch-size takes an integer greater than 0, {} given", effect=False),
    "ha-sync-mode": Key(
        _one_of("automatic", "manual"), 'ha-sync-mode must be "manual" or "automatic", got {}', _operators, effect=False
    ),
}
MIRRORING: Final = tuple(key for key in KEYS if key.startswith("ha-"))

# A policy with one of these is none for a queue of the type (each type's capabilities/0).
_STREAMS: Final = frozenset({"max-age", "stream-max-segment-size-bytes", "initial-cluster-size"})
UNSUPPORTED: Final[dict[str, frozenset[str]]] = {
    # Differs from RabbitMQ: for a classic queue a policy with delivery-limit or dead-letter-strategy is none there.
    "classic": _STREAMS
    | {
        "queue-leader-locator",
        "max-in-memory-length",
        "max-in-memory-bytes",
        "target-group-size",
    },
    "quorum": _STREAMS
    | {
        "queue-mode",
        "ha-mode",
        "ha-params",
        "ha-sync-mode",
        "ha-promote-on-shutdown",
        "ha-promote-on-failure",
        "queue-master-locator",
    },
    "stream": frozenset(
        {
            "expires",
            "message-ttl",
            "dead-letter-exchange",
            "dead-letter-routing-key",
            "dead-letter-strategy",
            "delivery-limit",
            "max-length",
            "max-in-memory-length",
            "max-in-memory-bytes",
            "overflow",
            "queue-mode",
            "queue-master-locator",
            "target-group-size",
            "ha-mode",
            "ha-params",
            "ha-sync-mode",
            "ha-promote-on-shutdown",
            "ha-promote-on-failure",
            # Nothing in a stream is consumed, or tried again.
            "delayed-retry-type",
            "delayed-retry-min",
            "delayed-retry-max",
            "retry-delays",
            HEAD_AGE_TARGET,
            TIME_TO_CONSUME_TARGET,
        }
    ),
}


def fault_of(definition: Any, *, operator: bool) -> str | None:
    """Return what is wrong with a policy's definition, in RabbitMQ's words; None if nothing is."""
    if not isinstance(definition, dict):
        if isinstance(definition, list) and definition:
            return f"definition must be a dictionary: {printed_json(definition)}"
        if definition != []:
            return f"parse error while reading policy definition: {printed_json(definition)}"
    if not definition:
        return "no policy provided"
    known = {name: key for name, key in KEYS.items() if key.merge is not None or not operator}
    for name in sorted(definition.keys() & known.keys()):
        fault = _fault(name, known[name], definition)
        if fault is not None:
            return fault
    fault = _retry_fault(definition)
    if fault is not None:
        return fault
    unknown = {name: definition[name] for name in sorted(definition) if name not in known}
    if unknown:
        return f"{printed_json(list(unknown.items()))} are not recognised policy settings"
    return None


def without_effect(definition: Definition) -> list[str]:
    """Return the keys of a definition that nothing here looks at."""
    return [name for name in definition if name in KEYS and not KEYS[name].effect]


def merged(users: Definition, operators: Definition) -> dict[str, Any]:
    """Return two policies' definitions as one: of two numbers the lower, of two words the operator's."""
    both = dict(users)
    for name, value in operators.items():
        merge = KEYS[name].merge
        both[name] = merge(both[name], value) if merge is not None and name in both else value
    return dict(sorted(both.items()))


def _fault(name: str, key: Key, definition: Definition) -> str | None:
    value = definition[name]
    if name in MIRRORING:
        fault = _mirroring_fault(name, value, definition)
        if fault is not None:
            return fault
    return None if key.check(value) else key.fault.format(key.told(value))


def _retry_fault(definition: Definition) -> str | None:
    kind, least, most = [definition.get(f"delayed-retry-{name}") for name in ("type", "min", "max")]
    if kind not in (None, "disabled") and least is None and "retry-delays" not in definition:
        return f"delayed-retry-min is required when delayed-retry-type is {kind}"
    if least is not None and most is not None and most < least:
        return f"delayed-retry-max ({most}) must not be smaller than delayed-retry-min ({least})"
    return None


def _mirroring_fault(name: str, value: Any, definition: Definition) -> str | None:
    if "ha-mode" not in definition:
        return "ha-mode must be specified to specify ha-params, ha-sync-mode or ha-promote-on-shutdown"
    mode = definition["ha-mode"]
    needs = {"exactly": "takes an integer", "nodes": "takes a list"}
    if name == "ha-mode" and mode in ("exactly", "nodes") and "ha-params" not in definition:
        return f'ha-mode="{mode}" {needs[mode]}, none given'
    if name != "ha-params":
        return None
    match mode, value:
        case "all", _:
            return 'ha-mode="all" does not take parameters'
        case "exactly", _ if not _whole(1)(value):
            return f'ha-mode="exactly" takes an integer, {printed_json(value)} given'
        case "nodes", []:
            return 'ha-mode="nodes" list must be non-empty'
        case "nodes", list():
            wrong = [each for each in value if not isinstance(each, str)]
            if wrong:
                return f'ha-mode="nodes" takes a list of strings, {printed_json(wrong)} was not a string'
        case "nodes", _:
            return f'ha-mode="nodes" takes a list, {printed_json(value)} given'
    return None
