"""Policy precedence: what decides instead of a policy on the queues and exchanges that it matches, or no longer does.

Another policy may precede it, or have been in force before it. An argument of a queue, or an operator policy, may count
instead of single keys: often the lower of two limits does.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.core.policy.policy import OPERATOR, OPERATORS_RULES, RULES, STREAM, USER, Policy
from pybroker.core.routing.exchange import ALTERNATE, Exchange
from pybroker.humanize import counted

if TYPE_CHECKING:
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.policies import Policies


class _Where(NamedTuple):
    """The queues and exchanges where something else decides; `first` is one of them, with the value there."""

    first: str
    queues: int = 0
    exchanges: int = 0

    def and_(self, noun: "Exchange | Queue") -> "_Where":
        """Count one more."""
        if isinstance(noun, Exchange):
            return self._replace(exchanges=self.exchanges + 1)
        return self._replace(queues=self.queues + 1)

    def __str__(self) -> str:
        parts = [counted(self.queues, "queue")] * bool(self.queues)
        parts += [counted(self.exchanges, "exchange")] * bool(self.exchanges)
        which = ": " if self.queues + self.exchanges == 1 else ", such as "
        return " and ".join(parts) + which + self.first


class Precedence:
    """Gathers what precedes one policy, and what it precedes; `add` each queue and exchange of its virtual host."""

    __slots__ = ("_component", "_found", "_policies", "_policy")

    def __init__(self, policies: "Policies", vhost_name: str, component: str, name: str) -> None:
        self._policies = policies
        self._component = component
        self._policy = next((each for each in policies.of(vhost_name, component) if each.name == name), None)
        self._found: dict[str, _Where] = {}

    def add(self, noun: "Exchange | Queue") -> None:
        """Look at a queue or exchange."""
        policy = self._policy
        matching = [] if policy is None else self._policies.matching(noun, self._component)
        if policy is None or policy not in matching:
            return
        kind = self._component.replace("_", " ")
        if matching[0] is not policy:
            other = matching[0]
            self._count(noun, f"{kind} '{other.name}' (priority {other.priority:g}) precedes it")
            return
        if len(matching) > 1 and (lost := sorted(matching[1].definition.keys() - policy.definition.keys())):
            self._count(noun, f"it applies instead of {kind} '{matching[1].name}', without its {', '.join(lost)},")
        for key, value in policy.definition.items():
            self._add_key(noun, policy, key, value)

    def _add_key(self, noun: "Exchange | Queue", policy: Policy, key: str, value: Any) -> None:
        if isinstance(noun, Exchange):
            if key == ALTERNATE and noun.arguments.get(ALTERNATE) not in {None, value}:
                self._count(noun, f"the argument {ALTERNATE} precedes its {key}", noun.arguments[ALTERNATE])
            return
        rules = OPERATORS_RULES if self._component == OPERATOR and noun.type != STREAM else RULES[noun.type]
        rule, argument = rules.get(key), noun.arguments.get(f"x-{key}")
        if rule is not None and argument is not None and rule(value, argument) != value:
            self._count(noun, f"the argument x-{key} precedes its {key}", argument)
        if self._component == USER and policy is noun.applied.user and noun.applied.operator is not None:
            merged = noun.applied.definition.get(key, value)
            if merged != value:
                name = noun.applied.operator.name
                self._count(noun, f"operator policy '{name}' precedes its {key}", merged)

    def _count(self, noun: "Exchange | Queue", what: str, value: Any = None) -> None:
        first = f"'{noun.name}'" if value is None else f"'{noun.name}' ({value})"
        self._found[what] = self._found.get(what, _Where(first)).and_(noun)

    def sentences(self) -> list[str]:
        """Return a sentence for each thing that precedes the policy, or that it precedes, without a full stop."""
        return [f"{what} for {where}" for what, where in self._found.items()]
