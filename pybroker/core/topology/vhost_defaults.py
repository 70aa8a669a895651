"""Defaults of new virtual hosts, by name, from the configuration: limits, operator policies, users.

It is given once, in the turn in which the virtual host is made, so that one transaction has both. As in RabbitMQ
(rabbit_db_vhost_defaults) nothing of it is tied to the configuration afterwards.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pybroker.core.auth.password import quick
from pybroker.core.auth.permissions import CONFIGURE, READ, WRITE
from pybroker.core.auth.quota import LIMITS, VHOST_LIMITS
from pybroker.core.policy.pattern import NamePattern
from pybroker.core.policy.policy import ALL, OPERATOR

if TYPE_CHECKING:
    from pybroker.core.events.cause import Cause
    from pybroker.core.topology.vhost import VHost

Given = Mapping[str, Any]


def give_defaults(vhost: "VHost", cause: "Cause") -> None:
    """Give a new virtual host what is configured for its name."""
    settings, parameters = vhost.broker.settings, vhost.broker.parameters
    # Of limits only the first that fit.
    for _, given in _fitting(settings.default_limits, "pattern", vhost.name)[:1]:
        limits = _without_patterns(given)
        if limits:
            parameters.set(vhost.name, VHOST_LIMITS, LIMITS, limits, cause)
    for name, given in _fitting(settings.default_policies, "vhost_pattern", vhost.name):
        pattern, definition = given.get("queue_pattern", ".*"), _without_patterns(given)
        value = {"pattern": pattern, "definition": definition, "priority": 0, "apply-to": ALL}
        parameters.set(vhost.name, OPERATOR, name, value, cause)
    users = vhost.broker.users
    for name, given in _fitting(settings.default_users, "vhost_pattern", vhost.name):
        if users.get(name) is None:
            # Its password stands in the configuration: a slow hash guards nothing, and would hold up the loop.
            algorithm = quick(settings.password_hashing)
            users.add(name, given.get("password", ""), given.get("tags", ()), algorithm, cause=cause)
        patterns = [given.get(each, ".*") for each in (CONFIGURE, WRITE, READ)]
        users.set_permissions(name, vhost.name, *patterns, cause=cause)


def _fitting(defaults: Mapping[str, Given], key: str, vhost_name: str) -> list[tuple[str, Given]]:
    """Return those with a pattern, under `key`, that fits, by their names; without one they are for all."""
    return [
        (name, each) for name, each in sorted(defaults.items()) if NamePattern(each.get(key, "")).matches(vhost_name)
    ]


def _without_patterns(given: Given) -> dict[str, Any]:
    """Return what is left without patterns, under the names that parameters have: `max-queues`."""
    return {key.replace("_", "-"): value for key, value in given.items() if not key.endswith("pattern")}
