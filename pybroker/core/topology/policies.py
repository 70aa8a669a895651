"""The policy of each queue and exchange, found when it is made, and anew whenever a policy changes.

Registers the components `policy` and `operator_policy` of the runtime parameters. `policy.py` knows what a policy says;
`queue/limit_reapply.py` applies new limits to waiting messages.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.background_task import BackgroundTask
from pybroker.core.events import admin as admin_events
from pybroker.core.policy.keys import Definition, without_effect
from pybroker.core.policy.limits import OVERFLOWS
from pybroker.core.policy.parameters import Component
from pybroker.core.policy.policy import OPERATOR, UNRULED, USER, Applied, Policy, check
from pybroker.core.queue.limit_reapply import relimit
from pybroker.core.routing.exchange import ALTERNATE, Exchange
from pybroker.core.topology.policy_drops import Drop, Tally, planned, surplus
from pybroker.core.topology.policy_precedence import Precedence

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost

# Looked at in one turn, some milliseconds: patterns tried on names, and queues given other limits.
TURN_COST: Final = 2_048
CHANGE_COST: Final = 8
# A pattern with nested repetitions takes RE2 a millisecond a name: hence the clock counts as well.
TURN_MS: Final = 5
LOOK_NOUNS: Final = 4

STRATEGY: Final = "x-dead-letter-strategy"
NONE: Final[tuple[Policy, ...]] = ()


class Policies(BackgroundTask):
    """As a task it goes over what there is in virtual hosts whose policies changed, a share in each turn."""

    __slots__ = ("_applied", "_broker", "_drops", "_lists", "_told", "_waiting")

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker.turn)
        self._broker = broker
        self._lists: dict[tuple[str, str], tuple[Policy, ...]] = {}
        self._applied: dict[tuple[Policy | None, Policy | None], Applied] = {}
        self._waiting: dict[str, tuple[deque[Exchange | Queue], Cause]] = {}
        self._told: set[str] = set()
        self._drops: dict[str, Tally] = {}
        for component in (USER, OPERATOR):
            known = Component(
                partial(_check, operator=component == OPERATOR),
                partial(self._changed, component),
            )
            broker.parameters.register(component, known)

    # -- what there is ------------------------------------------------------------------------------------------------

    def of(self, vhost_name: str, component: str) -> tuple[Policy, ...]:
        """Return the policies of a virtual host, or its operator policies, those that count before others first."""
        return self._lists.get((vhost_name, component), NONE)

    def matching(self, noun: "Exchange | Queue", component: str) -> list[Policy]:
        """Return the policies that match a queue or exchange; the first one is in force."""
        sort = _sort_of(noun)
        return [policy for policy in self.of(noun.vhost.name, component) if policy.matches(sort, noun.name)]

    def left(self, vhost_name: str) -> int:
        """Return how many queues and exchanges of a virtual host a change of its policies has not reached yet."""
        return len(self._waiting[vhost_name][0]) if vhost_name in self._waiting else 0

    def without_effect(self, definition: Definition) -> list[str]:
        """Return the keys of a definition that nothing here looks at."""
        return without_effect(definition)

    def planned(self, vhost_name: str, changes: Iterable[tuple[str, str, Any]]) -> Iterator[Drop | None]:
        """Yield for each queue what changes (component, name, value or None) would do to it: None, nothing."""
        return planned(self._broker, vhost_name, changes)

    def precedence(self, vhost_name: str, component: str, name: str) -> Precedence:
        """Return what gathers that which decides instead of a policy."""
        return Precedence(self, vhost_name, component, name)

    def tally(self) -> Tally:
        """Return what counts drops of several queues."""
        return Tally()

    # -- what is under them -------------------------------------------------------------------------------------------

    def apply(self, noun: "Exchange | Queue") -> bool:
        """Put a queue or exchange under what fits it now; return False if that is what it was under."""
        applied = self._applied_to(noun)
        if applied is noun.applied:
            return False
        noun.applied = applied
        if isinstance(noun, Exchange):
            _apply_to_exchange(noun, applied)
        else:
            limits = applied.limits(noun.arguments, noun.type)
            if limits != noun.limits:
                if noun.messages_ready:
                    self._drops.setdefault(noun.vhost.name, Tally()).add(noun.name, *surplus(noun, limits))
                relimit(noun, limits)
            warn_of_dead_letters(noun)
        return True

    def _applied_to(self, noun: "Exchange | Queue") -> Applied:
        vhost_name, name = noun.vhost.name, noun.name
        users, operators = self.of(vhost_name, USER), self.of(vhost_name, OPERATOR)
        if not users and not operators:
            return UNRULED
        sort = _sort_of(noun)
        user = next((policy for policy in users if policy.matches(sort, name)), None)
        operator = next((policy for policy in operators if policy.matches(sort, name)), None)
        if user is None and operator is None:
            return UNRULED
        applied = self._applied.get((user, operator))
        if applied is None:
            applied = self._applied[user, operator] = Applied.of(user, operator)
        return applied

    # -- changes ------------------------------------------------------------------------------------------------------

    def _changed(self, component: str, vhost_name: str, name: str, value: Any, cause: "Cause") -> None:
        """Take a policy that was set, or (None) cleared."""
        kept = [policy for policy in self.of(vhost_name, component) if policy.name != name]
        if value is not None:
            policy = Policy.of(vhost_name, name, value)
            kept.append(policy)
            self._warn(policy)
        self._lists[vhost_name, component] = tuple(sorted(kept, key=_rank))
        if not kept:
            del self._lists[vhost_name, component]
        here = {id(policy) for policies in self._lists.values() for policy in policies}
        self._applied = {
            pair: applied for pair, applied in self._applied.items() if all(p is None or id(p) in here for p in pair)
        }
        vhost = self._broker.vhosts.get(vhost_name)
        if vhost is None:
            self._waiting.pop(vhost_name, None)
        else:
            self._go_over(vhost, cause)

    def _go_over(self, vhost: "VHost", cause: "Cause") -> None:
        """Apply to everything in a virtual host: if there is little of it, at once."""
        self._waiting.pop(vhost.name, None)
        self._waiting[vhost.name] = deque([*vhost.exchanges.values(), *vhost.queues.values()]), cause
        self.deliver(0)
        self._broker.limit_reapply.begin()

    def deliver(self, _now_ms: int) -> None:
        """Go over a turn's share."""
        budget, count, clock = TURN_COST, 0, self._broker.clock
        clock.refresh()
        until_ms = clock.now_ms + TURN_MS
        while self._waiting and budget > 0:
            vhost_name, (nouns, cause) = next(iter(self._waiting.items()))
            cost = 1 + len(self.of(vhost_name, USER)) + len(self.of(vhost_name, OPERATOR))
            while nouns and budget > 0:
                noun = nouns.popleft()
                budget -= cost
                before = noun.applied
                if not _is_gone(noun) and self.apply(noun):
                    budget -= CHANGE_COST
                    if not isinstance(noun, Exchange):
                        admin_events.policy_applied(noun, before, cause)
                count += 1
                if not count % LOOK_NOUNS:
                    clock.refresh()
                    if clock.now_ms >= until_ms:
                        budget = 0
            if not nouns:
                del self._waiting[vhost_name]
                self._tell_drops(vhost_name)
        if self._waiting:
            self.wake_again()

    def _tell_drops(self, vhost_name: str) -> None:
        drops = self._drops.pop(vhost_name, None)
        if drops is not None and drops.messages:
            what = "dropped, or sent to their dead-letter exchanges"
            text = f"policies of vhost '{vhost_name}' changed: {drops} exceed their limits and are {what}"
            self._broker.info("policy.limits_applied", text, vhost=vhost_name)

    def _warn(self, policy: Policy) -> None:
        """Say once of each key that it does nothing here."""
        for key in without_effect(policy.definition):
            if key not in self._told:
                self._told.add(key)
                text = (
                    f"{key} in a policy has no effect here but is stored (policy '{policy.name}' of vhost "
                    f"'{policy.vhost}')"
                )
                self._broker.warn("policy.key_ignored", f"policy key {key}", text, vhost=policy.vhost)


def warn_of_dead_letters(queue: "Queue") -> None:
    """Warn of a dead letter routing key or strategy that has no effect (rabbit_quorum_queue:dlh)."""
    limits, warn = queue.limits, queue.vhost.broker.warn
    strategy = queue.arguments.get(STRATEGY, queue.applied.definition.get("dead-letter-strategy"))
    if limits.dead_letter_exchange is None:
        for key, value in (("routing-key", limits.dead_letter_routing_key), ("strategy", strategy)):
            if value is not None:
                warn(
                    "dead_letter.ignored",
                    f"dlx {key} {queue.vhost.name}/{queue.name}",
                    f"Disabling dead-lettering for {queue!r} despite configured dead-letter-{key} '{value}' because "
                    "dead-letter-exchange is not configured.",
                    vhost=queue.vhost.name,
                    queue=queue.name,
                )
    elif strategy == "at-least-once" and not limits.at_least_once:
        name = next(name for name, number in OVERFLOWS.items() if number == limits.overflow)
        warn(
            "dead_letter.ignored",
            f"dlx strategy {queue.vhost.name}/{queue.name}",
            f"Falling back to dead-letter-strategy at-most-once for {queue!r} because configured dead-letter-strategy "
            f"at-least-once is incompatible with effective overflow strategy {name}. To enable dead-letter-strategy "
            "at-least-once, set overflow strategy to reject-publish.",
            vhost=queue.vhost.name,
            queue=queue.name,
        )


def _sort_of(noun: "Exchange | Queue") -> str:
    return noun.kind if isinstance(noun, Exchange) else noun.type


def _is_gone(noun: "Exchange | Queue") -> bool:
    if isinstance(noun, Exchange):
        return noun.vhost.exchanges.get(noun.name) is not noun
    return noun.deleted


def _rank(policy: Policy) -> tuple[float, str]:
    return policy.rank


def _check(_vhost_name: str, name: str, value: Any, *, operator: bool) -> None:
    check(name, value, operator=operator)


def _apply_to_exchange(exchange: "Exchange", applied: Applied) -> None:
    # The default exchange is under policies by name, but is none that could have an alternate exchange.
    before = exchange.alternate
    if exchange.name:
        exchange.apply_policy(applied.definition.get(ALTERNATE))
    if exchange.alternate != before:
        exchange.vhost.bump()
