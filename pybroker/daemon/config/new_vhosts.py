"""The keys that say what new virtual hosts get: limits, operator policies, users.

Names are free and stand in a key where NAME or USER does; keys with the same name belong together.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pybroker.core.policy.argument_values import EXPIRY_MS_MAX
from pybroker.core.settings import Settings
from pybroker.daemon.config import values
from pybroker.daemon.config.conf_file import Assignment
from pybroker.daemon.config.values import Parser

LIMITS: Final = "default_limits.vhosts."
POLICIES: Final = "default_policies.operator."
USERS: Final = "default_users."
PASSWORD: Final = f"{USERS}USER.password"


def _tags(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (tag.strip() for tag in text.split(","))))


_number: Final = values.whole_number(1, 1_000_000_000)

PARSERS: Final[Mapping[str, Parser]] = {
    f"{LIMITS}NAME.pattern": values.name_pattern,
    f"{LIMITS}NAME.max_connections": _number,
    f"{LIMITS}NAME.max_queues": _number,
    f"{POLICIES}NAME.vhost_pattern": values.name_pattern,
    f"{POLICIES}NAME.queue_pattern": values.name_pattern,
    f"{POLICIES}NAME.expires": values.duration_ms(1, EXPIRY_MS_MAX),
    f"{POLICIES}NAME.message_ttl": values.duration_ms(0, EXPIRY_MS_MAX),
    f"{POLICIES}NAME.max_length": values.whole_number(1, 1_000_000_000_000),
    f"{POLICIES}NAME.max_length_bytes": values.octets(1, values.LIMIT_OCTETS_MAX),
    f"{POLICIES}NAME.delivery_limit": _number,
    f"{USERS}USER.vhost_pattern": values.name_pattern,
    PASSWORD: values.text_value,
    f"{USERS}USER.tags": _tags,
    f"{USERS}USER.configure": values.pattern,
    f"{USERS}USER.write": values.pattern,
    f"{USERS}USER.read": values.pattern,
}


def gather(settings: Settings, given: Mapping[str, dict[str, Any]], assignments: Iterable[Assignment]) -> list[str]:
    """Put into the settings what was given, by key and name; return a sentence for each policy that says nothing."""
    settings.default_limits = _by_name(given, f"{LIMITS}NAME.")
    settings.default_users = _by_name(given, f"{USERS}USER.")
    settings.default_policies = _by_name(given, f"{POLICIES}NAME.")
    problems = []
    for name, policy in settings.default_policies.items():
        if all(key.endswith("_pattern") for key in policy):
            head = f"{POLICIES}{name}."
            where = next(each.where for each in assignments if each.key.startswith(head))
            problems.append(f"{where}: {head}* sets nothing for queues; set {head}max_length, for example")
    return problems


def _by_name(given: Mapping[str, dict[str, Any]], head: str) -> dict[str, dict[str, Any]]:
    """Return the values of the keys that begin so: by the name, then by what stands behind it in the key."""
    found: dict[str, dict[str, Any]] = {}
    for key, of_names in given.items():
        if key.startswith(head):
            for name, value in of_names.items():
                found.setdefault(name, {})[key.removeprefix(head)] = value
    return found
