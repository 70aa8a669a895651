"""Permissions of users: RabbitMQ's configure, write and read patterns, and topic permissions. Nothing here fails open.

Patterns are searched for anywhere in a name (not anchored), by RE2, which is linear in the name's length whatever the
pattern. They are compiled when set; a verdict is kept until the user's permissions change.
"""

from typing import TYPE_CHECKING, Final

import re2

from pybroker.core.reply_text import describe
from pybroker.errors import AccessRefused, NotAllowed

if TYPE_CHECKING:
    from pybroker.core.auth.users import User

PATTERN_CHARS_MAX: Final = 1_000
VERDICTS_MAX: Final = 4_096
CONFIGURE: Final = "configure"
WRITE: Final = "write"
READ: Final = "read"
# Queues that the broker itself publishes to: clients may read them, and nothing else.
OWN_QUEUES: Final = "amq.pybroker."

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False  # it would write to stderr; the fault is reported to the caller


class PatternError(ValueError):
    """A pattern that cannot be compiled; the text says why."""


class Pattern:
    """One compiled permission pattern, and its text as it was set."""

    __slots__ = ("_search", "text")

    def __init__(self, text: str, compiled: str | None = None) -> None:
        if len(text) > PATTERN_CHARS_MAX:
            reason = f"a pattern may have at most {PATTERN_CHARS_MAX} characters"
            raise PatternError(reason)
        self.text = text
        self._search = _compile(text if compiled is None else compiled).search

    def matches(self, name: str) -> bool:
        """Tell whether the pattern is found in `name`."""
        return self._search(name) is not None


def _compile(text: str) -> "re2._Regexp":
    # Differs from RabbitMQ: RE2 has no look-around and no back references; such a pattern is refused when it is set.
    try:
        # The empty pattern grants nothing, as in RabbitMQ; to a regular expression it would mean everything.
        return re2.compile(text or "^$", _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "no reason given"
        if isinstance(reason, bytes):
            reason = reason.decode(errors="replace")
        raise PatternError(str(reason)) from None


class Permission:
    """The patterns of one user in one vhost."""

    __slots__ = ("_patterns",)

    def __init__(self, configure: str, write: str, read: str) -> None:
        self._patterns = {CONFIGURE: Pattern(configure), WRITE: Pattern(write), READ: Pattern(read)}

    def text(self, permission: str) -> str:
        """Return a pattern as it was set."""
        return self._patterns[permission].text

    def grants(self, permission: str, name: str) -> bool:
        """Tell whether the pattern of `permission` is found in `name`."""
        return self._patterns[permission].matches(name)


class TopicPermission:
    """Which routing keys one user may use at one topic exchange. `{vhost}` and `{username}` stand for these names."""

    __slots__ = ("_patterns", "_verdicts")

    def __init__(self, vhost_name: str, user_name: str, write: str, read: str) -> None:
        names = {"vhost": vhost_name, "username": user_name}
        self._patterns = {WRITE: Pattern(write, expand(write, names)), READ: Pattern(read, expand(read, names))}
        self._verdicts: dict[tuple[str, str], bool] = {}

    def text(self, permission: str) -> str:
        """Return a pattern as it was set."""
        return self._patterns[permission].text

    def grants(self, permission: str, routing_key: str) -> bool:
        """Tell whether the pattern of `permission` is found in a routing key."""
        verdict = self._verdicts.get((permission, routing_key))
        if verdict is None:
            if len(self._verdicts) >= VERDICTS_MAX:
                self._verdicts.clear()
            verdict = self._patterns[permission].matches(routing_key)
            self._verdicts[permission, routing_key] = verdict
        return verdict


def expand(template: str, names: dict[str, str]) -> str:
    r"""Return a pattern in which `{vhost}` and `{username}` are the names themselves, never patterns.

    Every character of a name becomes `\x{code point}`, so there is none that could mean anything else: no dot, no
    bracket, no dash within a class, no quantifier (CVE-2026-44838, CVE-2026-67407). An escaped brace is no placeholder.
    """
    # Differs from RabbitMQ: it pastes the names in as they are, so that a user named `.*` may use every key.
    out = []
    at = 0
    while at < len(template):
        if template[at] == "\\":
            out.append(template[at : at + 2])
            at += 2
            continue
        for placeholder, name in names.items():
            mark = "{" + placeholder + "}"
            if template.startswith(mark, at):
                out.extend(f"\\x{{{ord(character):x}}}" for character in name)
                at += len(mark)
                break
        else:
            out.append(template[at])
            at += 1
    return "".join(out)


def granted(user: "User", vhost_name: str, permission: str, name: str) -> bool:
    """Tell whether a user may; the default exchange is asked for as `amq.default`."""
    # Differs from RabbitMQ: nobody may publish to, bind, declare or delete amq.pybroker.events and .telemetry.
    verdict = user.verdicts.get((vhost_name, permission, name))
    if verdict is None:
        granting = user.permissions.get(vhost_name)
        verdict = granting is not None and granting.grants(permission, name)
        verdict = verdict and (permission == READ or not name.startswith(OWN_QUEUES))
        if len(user.verdicts) >= VERDICTS_MAX:
            user.verdicts.clear()
        user.verdicts[vhost_name, permission, name] = verdict
    return verdict


def check(user: "User | None", vhost_name: str, permission: str, kind: str, name: str) -> None:
    """Refuse what a user may not do with a queue or exchange; None is the broker itself, which may.

    Raises AccessRefused (403): `read access to exchange 'X' in vhost '/' refused for user 'U'`.
    """
    if user is None:
        return
    if kind == "exchange" and not name:
        name = "amq.default"
    if not granted(user, vhost_name, permission, name):
        text = f"{permission} access to {describe(kind, name, vhost_name)} refused for user '{user.name}'"
        raise AccessRefused(text)


def check_topic(user: "User | None", vhost_name: str, exchange_name: str, permission: str, routing_key: str) -> None:
    """Refuse a routing key at a topic exchange; without a topic permission for the exchange all keys are allowed.

    Raises AccessRefused (403).
    """
    if user is None:
        return
    restriction = user.topic_permissions.get((vhost_name, exchange_name))
    if restriction is not None and not restriction.grants(permission, routing_key):
        text = (
            f"{permission} access to topic '{routing_key}' in exchange '{exchange_name}' in vhost '{vhost_name}' "
            f"refused for user '{user.name}'"
        )
        raise AccessRefused(text)


def check_vhost(user: "User", vhost_name: str) -> None:
    """Refuse a vhost in which a user has no permissions at all. Raises NotAllowed (530) [connection.open]."""
    if vhost_name not in user.permissions:
        text = f"access to vhost '{vhost_name}' refused for user '{user.name}'"
        raise NotAllowed(text)
