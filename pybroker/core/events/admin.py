"""Events of administration: users, parameters, policies. The facts are those of RabbitMQ's events."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pybroker.core.events.observers import Notify

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.events.cause import Cause
    from pybroker.core.policy.policy import Applied
    from pybroker.core.queue.queue import Queue


def user_created(notify: Notify, user: "User", cause: "Cause") -> None:
    """Notify of a new user, with tags and limits if there are any."""
    notify("user.created", {"name": user.name}, cause)
    if user.tags:
        notify("user.tags.set", {"name": user.name, "tags": list(user.tags)}, cause)
    if user.limits:
        notify("user.limits.set", {"name": "limits", "username": user.name, **user.limits}, cause)


def user_limits(notify: Notify, user: "User", before: Mapping[str, int], cause: "Cause") -> None:
    """Notify that limits of a user were set, or taken away."""
    changed = {key: limit for key, limit in user.limits.items() if before.get(key) != limit}
    if changed or len(user.limits) == len(before):
        notify("user.limits.set", {"name": "limits", "username": user.name, **user.limits}, cause)
    else:
        notify("user.limits.cleared", {"name": "limits", "username": user.name}, cause)


def policy_applied(queue: "Queue", before: "Applied", cause: "Cause") -> None:
    """Tell of a queue that it is under other policies than before. RabbitMQ tells of queues alone."""
    events = queue.vhost.broker.events
    if not events.wanted:
        return
    now = queue.applied
    facts = {"name": queue.name, "vhost": queue.vhost.name, "type": f"rabbit_{queue.type}_queue"}
    for policy, old in ((now.user, before.user), (now.operator, before.operator)):
        if policy is old:
            continue
        if policy is None:
            events.emit("queue.policy.cleared", facts, cause)
            continue
        terms = {
            "pattern": policy.pattern.text,
            "definition": policy.definition,
            "priority": policy.priority,
            "apply-to": policy.apply_to,
        }
        events.emit("queue.policy.updated", {**facts, **terms}, cause)


def parameter_set(notify: Notify, vhost_name: str, component: str, name: str, value: Any, cause: "Cause") -> None:
    """Notify that a runtime parameter was set, and what that means: a policy, or limits."""
    if component != "policy":
        notify("parameter.set", {"vhost": vhost_name, "component": component, "name": name, "value": value}, cause)
    if component in {"policy", "operator_policy"}:
        notify("policy.set", {"name": name, "vhost": vhost_name, **value}, cause)
    elif component == "vhost-limits":
        notify("vhost.limits.set", {"name": name, **dict(value)}, cause)


def parameter_cleared(notify: Notify, vhost_name: str, component: str, name: str, cause: "Cause") -> None:
    """Notify that a runtime parameter was cleared, and what that means."""
    if component != "policy":
        notify("parameter.cleared", {"vhost": vhost_name, "component": component, "name": name}, cause)
    if component in {"policy", "operator_policy"}:
        event = "policy.cleared" if component == "policy" else "operator.policy.cleared"
        notify(event, {"name": name, "vhost": vhost_name}, cause)
    elif component == "vhost-limits":
        notify("vhost.limits.cleared", {"name": name}, cause)


def global_parameter(notify: Notify, event: str, name: str, cause: "Cause", **value: Any) -> None:
    """Tell that a global parameter was set or cleared."""
    notify(event, {"component": "global", "name": name, **value}, cause)
