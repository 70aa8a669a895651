"""Users: names, password hashes, tags, limits, and what each may do where.

Every change is kept in the definitions, and returns the commit position to wait for. Does not know mechanisms of
authentication. `login.py` computes slow hashes; `permissions.py` and `quota.py` have the meaning of permissions and
limits.
"""

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pybroker.core.auth import user_rows
from pybroker.core.auth.password import MD5, SHA256, check_hash, hash_of_nobody, hash_password, password_fits
from pybroker.core.auth.permissions import Permission, TopicPermission
from pybroker.core.auth.quota import checked_user_limits
from pybroker.core.events import admin as admin_events
from pybroker.core.events.cause import BROKER, COMMAND_USER, Cause
from pybroker.core.events.observers import Observers
from pybroker.errors import AccessRefused
from pybroker.log_event import event
from pybroker.store.memory import MemoryDefinitions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.channel.state import SessionState
    from pybroker.store.definitions.definitions import Definitions

log = logging.getLogger("pybroker")


class UserExistsError(Exception):
    """A user of this name is there already."""


class NoSuchUserError(Exception):
    """There is no user of this name."""


class User:
    """One user. `permissions` by vhost name, `topic_permissions` by (vhost name, exchange name).

    `verdicts` remembers what `permissions.check` found, so that a pattern is run once a name; any change empties it.
    `password_hash` is as `password.py` makes it; empty means that no password fits. `known_password` is what
    `login.py` remembers of the one that did, with the time until which it counts (ms); any change of the user empties
    it. `sessions` are those that have entered a virtual host, `channels` how many they have. `limits` are RabbitMQ's,
    by name.
    """

    __slots__ = (
        "channels",
        "hashing_algorithm",
        "known_password",
        "limits",
        "name",
        "password_hash",
        "permissions",
        "sessions",
        "tags",
        "topic_permissions",
        "verdicts",
    )

    def __init__(
        self,
        name: str,
        password_hash: bytes = b"",
        hashing_algorithm: str = SHA256,
        tags: "Iterable[str]" = (),
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self.name = name
        self.password_hash = password_hash
        self.hashing_algorithm = hashing_algorithm
        self.tags = tuple(tags)
        self.limits = dict(limits or {})
        self.known_password: tuple[bytes, int] | None = None
        self.sessions: dict[SessionState, None] = {}
        self.channels = 0
        self.permissions: dict[str, Permission] = {}
        self.topic_permissions: dict[tuple[str, str], TopicPermission] = {}
        self.verdicts: dict[tuple[str, str, str], bool] = {}

    def __repr__(self) -> str:
        return f"User({self.name!r})"


class Users:
    """All users. `generation` grows with every change of anybody's permissions; verdicts kept elsewhere end with it.

    `observers` are called after each change.
    """

    __slots__ = ("_definitions", "_nobody", "_users", "_warned", "generation", "observers")

    def __init__(self, definitions: "Definitions | None" = None) -> None:
        self._definitions = MemoryDefinitions() if definitions is None else definitions
        self._users: dict[str, User] = {}
        self._nobody: dict[str, bytes] = {}
        self._warned = False
        self.generation = 0
        self.observers = Observers()

    def __len__(self) -> int:
        return len(self._users)

    def __iter__(self) -> Iterator[User]:
        return iter(self._users.values())

    def clear(self) -> None:
        """Forget all of them and tell nobody: the definitions do not have them any more."""
        self._users.clear()
        self._warned = False
        self.generation += 1

    def get(self, name: str) -> User | None:
        """Return a user, or None."""
        return self._users.get(name)

    def acting(self, name: str) -> User | None:
        """Return the user who runs a command; None for an operator at the node's socket, who may do everything.

        Raises AccessRefused (403): the user was deleted.
        """
        user = self._users.get(name)
        if user is None and name != COMMAND_USER:
            raise AccessRefused(f"user '{name}' does not exist")
        return user

    def named(self, name: str) -> User:
        """Return a user. Raises NoSuchUserError."""
        user = self._users.get(name)
        if user is None:
            raise NoSuchUserError(name)
        return user

    def add(
        self, name: str, password: str, tags: "Iterable[str]" = (), algorithm: str = SHA256, *, cause: Cause = BROKER
    ) -> int:
        """Make a user whose password stands in clear elsewhere, in the configuration; an empty one lets nobody in.

        All others' are hashed by `login.py`, which leaves the loop free meanwhile. Raises UserExistsError.
        """
        return self.add_hashed(
            name, hash_password(password, algorithm) if password else b"", algorithm, tags, cause=cause
        )

    def add_hashed(
        self,
        name: str,
        password_hash: bytes,
        hashing_algorithm: str,
        tags: "Iterable[str]" = (),
        limits: Mapping[str, int] | None = None,
        *,
        cause: Cause = BROKER,
    ) -> int:
        """Make a user. Raises UserExistsError; ValueError for a hash or an algorithm that nobody can compare with."""
        if name in self._users:
            raise UserExistsError(name)
        check_hash(password_hash, hashing_algorithm)
        user = User(name, password_hash, hashing_algorithm, tags, limits)
        self.load(user)
        commit_position = user_rows.save_user(self._definitions, user)
        admin_events.user_created(self.observers.notify, user, cause)
        return commit_position

    def load(self, user: User) -> None:
        """Have a user that the definitions have already."""
        self._users[user.name] = user
        self._warn(user)

    def delete(self, name: str, cause: Cause = BROKER) -> int:
        """Forget a user; sessions that still hold the object find it without any permission. Raises NoSuchUserError."""
        user = self.named(name)
        del self._users[name]
        commit_position = user_rows.forget_user(self._definitions, user)
        self.observers.notify("user.deleted", {"name": name}, cause)
        user.permissions.clear()
        user.topic_permissions.clear()
        self._changed(user)
        return commit_position

    def set_hashed(self, name: str, password_hash: bytes, hashing_algorithm: str, cause: Cause = BROKER) -> int:
        """Replace the password; connections that stand go on. Raises NoSuchUserError; ValueError as `add_hashed`."""
        user = self.named(name)
        check_hash(password_hash, hashing_algorithm)
        user.password_hash, user.hashing_algorithm = password_hash, hashing_algorithm
        self._warn(user)
        commit_position = self._keep(user)
        self.observers.notify(f"user.password.{'changed' if password_hash else 'cleared'}", {"name": name}, cause)
        return commit_position

    def clear_password(self, name: str, cause: Cause = BROKER) -> int:
        """Have no password let the user in. Raises NoSuchUserError."""
        return self.set_hashed(name, b"", SHA256, cause)

    def set_tags(self, name: str, tags: "Iterable[str]", cause: Cause = BROKER) -> int:
        """Replace the tags; connections that stand feel it at once. Raises NoSuchUserError."""
        user = self.named(name)
        user.tags = tuple(tags)
        commit_position = self._keep(user)
        self.observers.notify("user.tags.set", {"name": name, "tags": list(user.tags)}, cause)
        return commit_position

    def add_limits(self, name: str, given: object, cause: Cause = BROKER) -> int:
        """Set the limits that JSON gave, leave the others. Raises NoSuchUserError; ValueError in RabbitMQ's words."""
        return self.set_limits(name, {**self.named(name).limits, **checked_user_limits(given)}, cause)

    def set_limits(self, name: str, limits: Mapping[str, int], cause: Cause = BROKER) -> int:
        """Replace the limits, which `quota.py` has checked; connections over them stay. Raises NoSuchUserError."""
        user = self.named(name)
        before, user.limits = user.limits, dict(limits)
        commit_position = self._keep(user)
        admin_events.user_limits(self.observers.notify, user, before, cause)
        return commit_position

    def authenticate(self, name: str, password: str) -> User | None:
        """Return the user if the password is right. A name that does not exist costs the same work as one that does.

        With an algorithm that `is_slow` this takes its time; on the loop `login.py` is asked.
        """
        user, password_hash, algorithm = self.asked(name, SHA256)
        fits = password_fits(password, password_hash, algorithm)
        return user if fits and password else None

    def asked(self, name: str, algorithm: str) -> tuple[User | None, bytes, str]:
        """Return a user, hash and algorithm; for an unknown name None and a hash by this `algorithm` that nothing fits.

        Comparing with the hash takes the same time whether the user exists or not.
        """
        user = self._users.get(name)
        if user is not None:
            return user, user.password_hash, user.hashing_algorithm
        nobody = self._nobody.get(algorithm)
        if nobody is None:
            nobody = self._nobody[algorithm] = hash_of_nobody(algorithm)
        return None, nobody, algorithm

    def set_permissions(
        self, name: str, vhost_name: str, configure: str, write: str, read: str, *, cause: Cause = BROKER
    ) -> int:
        """Grant what matches the three patterns in one vhost. Raises NoSuchUserError, PatternError."""
        user = self.named(name)
        user.permissions[vhost_name] = Permission(configure, write, read)
        commit_position = user_rows.save_permission(self._definitions, user, vhost_name)
        patterns = {"configure": configure, "write": write, "read": read}
        self.observers.notify("permission.created", {"user": name, "vhost": vhost_name, **patterns}, cause)
        self._changed(user)
        return commit_position

    def clear_permissions(self, name: str, vhost_name: str, cause: Cause = BROKER) -> int:
        """Take all permissions in one vhost away; the user cannot enter it any more. Raises NoSuchUserError.

        Return the commit position to wait for, also if there are none: another may just have taken them.
        """
        user = self.named(name)
        if user.permissions.pop(vhost_name, None) is not None:
            user_rows.forget_permission(self._definitions, user, vhost_name)
            self.observers.notify("permission.deleted", {"user": name, "vhost": vhost_name}, cause)
        self._changed(user)
        return self._definitions.commit_position

    def set_topic_permissions(
        self, name: str, vhost_name: str, exchange_name: str, write: str, read: str, *, cause: Cause = BROKER
    ) -> int:
        """Restrict routing keys at one topic exchange. Raises NoSuchUserError, PatternError."""
        user = self.named(name)
        user.topic_permissions[vhost_name, exchange_name] = TopicPermission(vhost_name, name, write, read)
        commit_position = user_rows.save_topic_permission(self._definitions, user, vhost_name, exchange_name)
        facts = {"user": name, "vhost": vhost_name, "exchange": exchange_name, "write": write, "read": read}
        self.observers.notify("topic.permission.created", facts, cause)
        self._changed(user)
        return commit_position

    def clear_topic_permissions(
        self, name: str, vhost_name: str, exchange_name: str | None = None, *, cause: Cause = BROKER
    ) -> int:
        """Lift the restriction at one exchange, or at all of a vhost. Raises NoSuchUserError.

        Return the commit position to wait for, also if there is none: another may just have lifted it.
        """
        user = self.named(name)
        for key in list(user.topic_permissions):
            if key[0] == vhost_name and exchange_name in (None, key[1]):
                del user.topic_permissions[key]
                user_rows.forget_topic_permission(self._definitions, user, *key)
                self.observers.notify(
                    "topic.permission.deleted", {"user": name, "vhost": vhost_name, "exchange": key[1]}, cause
                )
        self._changed(user)
        return self._definitions.commit_position

    def forget_vhost(self, vhost_name: str, cause: Cause) -> "Iterator[None]":
        """Take all permissions of a vhost that is being deleted, user by user."""
        for user in list(self._users.values()):
            if self._users.get(user.name) is user:
                self.clear_permissions(user.name, vhost_name, cause)
                self.clear_topic_permissions(user.name, vhost_name, cause=cause)
            yield

    def _keep(self, user: User) -> int:
        user.known_password = None
        return user_rows.save_user(self._definitions, user)

    def _changed(self, user: User) -> None:
        user.known_password = None
        user.verdicts.clear()
        self.generation += 1

    def _warn(self, user: User) -> None:
        if user.hashing_algorithm == MD5 and user.password_hash and not self._warned:
            self._warned = True
            log.warning(
                "the password of user %.256r is stored as an MD5 hash, which is insecure; replace it with "
                "'pybrokerctl change_password'; other users may be affected too",
                user.name,
                extra=event("user.weak_hash", user=user.name),
            )
