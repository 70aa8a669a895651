"""Policies for all queues or exchanges whose names match a pattern, and their effect on one of them.

A policy is the value of a runtime parameter (components `policy` and `operator_policy`), taken apart here.
`policies.py` finds the policy of each queue and exchange.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.policy.arguments import queue_limits
from pybroker.core.policy.keys import UNSUPPORTED, Definition, Merge, fault_of, lower_limit, merged
from pybroker.core.policy.parameters import ValidationError
from pybroker.core.policy.pattern import NamePattern, PatternError
from pybroker.core.reply_text import printed_json

if TYPE_CHECKING:
    from pybroker.core.policy.limits import QueueLimits

USER: Final = "policy"
OPERATOR: Final = "operator_policy"
STREAM: Final = "stream"

# The kinds that a policy applies to, by its apply-to.
APPLY_TO: Final[dict[str, frozenset[str]]] = {
    "queues": frozenset({"classic", "quorum", "stream"}),
    "classic_queues": frozenset({"classic"}),
    "quorum_queues": frozenset({"quorum"}),
    "streams": frozenset({"stream"}),
    "exchanges": frozenset({"exchange"}),
    "all": frozenset({"classic", "quorum", "stream", "exchange"}),
}
ALL: Final = "all"


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """One policy, or operator policy. `sorts` is what it applies to: `exchange`, and types of queues."""

    name: str
    vhost: str
    pattern: NamePattern
    apply_to: str
    definition: Definition
    priority: float
    sorts: frozenset[str]

    @classmethod
    def of(cls, vhost_name: str, name: str, value: Mapping[str, Any]) -> "Policy":
        """Return what a checked parameter value says."""
        definition = dict(sorted(value["definition"].items()))
        apply_to = value.get("apply-to", ALL)
        # As in RabbitMQ, a policy with a key that is nothing for a type of queues does not apply to these at all.
        sorts = {sort for sort in APPLY_TO[apply_to] if not UNSUPPORTED.get(sort, frozenset()) & definition.keys()}
        pattern = NamePattern(value["pattern"])
        return cls(name, vhost_name, pattern, apply_to, definition, value["priority"], frozenset(sorts))

    def matches(self, sort: str, name: str) -> bool:
        """Tell whether it is for an exchange, or a queue of this type, of this name."""
        return sort in self.sorts and self.pattern.matches(name)

    @property
    def rank(self) -> tuple[float, str]:
        """Return what policies are ordered by, the one that counts first."""
        # RabbitMQ leaves open which of two with the same priority counts.
        return -self.priority, self.name


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """The policies of a queue or exchange: up to one policy, up to one operator policy, and both merged."""

    user: Policy | None = None
    operator: Policy | None = None
    definition: Definition = field(default_factory=dict)
    _plain: "dict[str, QueueLimits]" = field(default_factory=dict)  # by type: those of queues without arguments

    @classmethod
    def of(cls, user: Policy | None, operator: Policy | None) -> "Applied":
        """Return both merged."""
        users = {} if user is None else user.definition
        return cls(user, operator, users if operator is None else merged(users, operator.definition))

    @property
    def policy(self) -> str:
        """Return the policy's name, empty without (list_queues)."""
        return "" if self.user is None else self.user.name

    @property
    def operator_policy(self) -> str:
        """Return the operator policy's name, empty without (list_queues)."""
        return "" if self.operator is None else self.operator.name

    def limits(self, arguments: Mapping[str, Any], queue_type: str) -> "QueueLimits":
        """Return what a queue's arguments and these policies come to."""
        if arguments:
            return self._resolved(arguments, queue_type)
        limits = self._plain.get(queue_type)
        if limits is None:
            limits = self._plain[queue_type] = self._resolved(arguments, queue_type)
        return limits

    def _resolved(self, arguments: Mapping[str, Any], queue_type: str) -> "QueueLimits":
        if queue_type == STREAM:
            # Both policies are one first, of which each value counts instead of the argument.
            ruled = {f"x-{key}": value for key, value in self.definition.items() if key in RULES[STREAM]}
            return queue_limits({**arguments, **ruled}, queue_type)
        resolved = dict(arguments)
        for policy, rules in ((self.user, RULES[queue_type]), (self.operator, OPERATORS_RULES)):
            if policy is None:
                continue
            for key, value in policy.definition.items():
                name = f"x-{key}"
                rule = rules.get(key)
                if rule is not None:
                    resolved[name] = rule(value, resolved[name]) if name in resolved else value
        return queue_limits(resolved, queue_type)


UNRULED: Final = Applied()


def _policy_counts(of_policy: Any, _of_argument: Any) -> Any:
    return of_policy


def _argument_counts(_of_policy: Any, of_argument: Any) -> Any:
    return of_argument


def _lower_timeout(one: int, other: int) -> int:
    """Return the lower of two; 0 is none at all."""
    return min(one, other) if one and other else one or other


# Which of a user's policy and an argument counts (rabbit_amqqueue_process:process_args_policy).
_CLASSIC: Final[dict[str, Merge]] = {
    "expires": min,
    "message-ttl": min,
    "max-length": min,
    "max-length-bytes": min,
    "overflow": _argument_counts,
    "dead-letter-exchange": _argument_counts,
    "dead-letter-routing-key": _argument_counts,
    "dead-letter-strategy": _argument_counts,
    "delivery-limit": lower_limit,
    "consumer-timeout": _lower_timeout,
    "delayed-retry-type": _policy_counts,
    "delayed-retry-min": min,
    "delayed-retry-max": min,
    "retry-delays": _policy_counts,
}
# And for a quorum queue (rabbit_quorum_queue:ra_machine_config).
# And for a stream, whose policies may make more room than its arguments do (rabbit_stream_queue:policy_precedence).
RULES: Final[dict[str, dict[str, Merge]]] = {
    "classic": _CLASSIC,
    "quorum": _CLASSIC | {"expires": _policy_counts, "overflow": _policy_counts},
    STREAM: {
        "max-length-bytes": _policy_counts,
        "max-age": _policy_counts,
        "stream-max-segment-size-bytes": _policy_counts,
        "consumer-timeout": _policy_counts,
    },
}
# Differs from RabbitMQ: an operator's policy wins against arguments as well, whatever the key and the queue's type.
OPERATORS_RULES: Final[dict[str, Merge]] = {
    "expires": min,
    "message-ttl": min,
    "max-length": min,
    "max-length-bytes": min,
    "overflow": _policy_counts,
    "delivery-limit": lower_limit,
    "delayed-retry-type": _policy_counts,
    "delayed-retry-min": min,
    "delayed-retry-max": min,
    "retry-delays": _policy_counts,
}


def check(name: str, value: Any, *, operator: bool) -> None:
    """Refuse a value that is no policy. Raises ValidationError with all that is wrong, as RabbitMQ lists it."""
    if not isinstance(value, dict):
        raise ValidationError(f"{name} not a list {printed_json(value)}")
    faults = []
    unknown = {key: value[key] for key in sorted(value) if key not in _FIELDS}
    if unknown:
        faults.append(f"Unrecognised terms {printed_json(list(unknown.items()))} in {name}")
    for key, look in _FIELDS.items():
        if key not in value:
            if key != "apply-to":
                faults.append(f'Key "{key}" not found in {name}')
            continue
        fault = fault_of(value[key], operator=operator) if look is None else look(value[key])
        if fault is not None:
            faults.append(fault)
    if faults:
        raise ValidationError(*faults)


def _apply_to_fault(value: Any) -> str | None:
    if isinstance(value, str) and value in APPLY_TO:
        return None
    shown = value if isinstance(value, str) else printed_json(value)
    return (
        f"apply-to '{shown}' unrecognised; should be one of: 'queues', 'classic_queues', "
        " 'quorum_queues', 'streams', 'exchanges', or 'all'"
    )


def _pattern_fault(value: Any) -> str | None:
    if not isinstance(value, str):
        return f"pattern should be a binary but was {printed_json(value)}"
    try:
        NamePattern(value)
    except PatternError as error:
        return f"pattern should be regular expression but is invalid: {error}"
    return None


def _priority_fault(value: Any) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return None
    return f"priority should be a number, actually was {printed_json(value)}"


# In the order in which RabbitMQ lists what is wrong.
_FIELDS: Final[dict[str, Any]] = {
    "definition": None,
    "apply-to": _apply_to_fault,
    "pattern": _pattern_fault,
    "priority": _priority_fault,
}
