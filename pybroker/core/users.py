"""Users: names, password hashes in RabbitMQ's format, tags, and what each may do where.

Every change is kept in the definitions. Whether a password was sent in clear or over which mechanism is the door's
business; what a permission means is `permissions.py`.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pybroker.core import durable
from pybroker.core.permissions import Permission, TopicPermission
from pybroker.store.memory import MemoryDefinitions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.store.definitions import Definitions

SALT_OCTETS: Final = 4

# Names of RabbitMQ's hashing modules, as they stand in definitions files.
SHA256: Final = "rabbit_password_hashing_sha256"
HASHES: Final = {
    SHA256: hashlib.sha256,
    "rabbit_password_hashing_sha512": hashlib.sha512,
    "rabbit_password_hashing_md5": hashlib.md5,
}


class UserExistsError(Exception):
    """A user of this name is there already."""


class NoSuchUserError(Exception):
    """There is no user of this name."""


class User:
    """One user. `permissions` by vhost name, `topic_permissions` by (vhost name, exchange name).

    `verdicts` remembers what `permissions.check` found, so that a pattern is run once a name; any change empties it.
    `password_hash` is salt and hash as RabbitMQ keeps them; empty means that no password fits.
    """

    __slots__ = (
        "hashing_algorithm",
        "name",
        "password_hash",
        "permissions",
        "tags",
        "topic_permissions",
        "verdicts",
    )

    def __init__(
        self, name: str, password_hash: bytes = b"", hashing_algorithm: str = SHA256, tags: "Iterable[str]" = ()
    ) -> None:
        self.name = name
        self.password_hash = password_hash
        self.hashing_algorithm = hashing_algorithm
        self.tags = tuple(tags)
        self.permissions: dict[str, Permission] = {}
        self.topic_permissions: dict[tuple[str, str], TopicPermission] = {}
        self.verdicts: dict[tuple[str, str, str], bool] = {}

    def __repr__(self) -> str:
        return f"User({self.name!r})"


class Users:
    """All users. `generation` grows with every change of anybody's permissions; verdicts kept elsewhere end with it."""

    __slots__ = ("_definitions", "_nobody", "_users", "generation")

    def __init__(self, definitions: "Definitions | None" = None) -> None:
        self._definitions = MemoryDefinitions() if definitions is None else definitions
        self._users: dict[str, User] = {}
        self._nobody = hash_password(secrets.token_hex())
        self.generation = 0

    def __len__(self) -> int:
        return len(self._users)

    def __iter__(self) -> Iterator[User]:
        return iter(self._users.values())

    def get(self, name: str) -> User | None:
        """Return a user, or None."""
        return self._users.get(name)

    def named(self, name: str) -> User:
        """Return a user. Raises NoSuchUserError."""
        user = self._users.get(name)
        if user is None:
            raise NoSuchUserError(name)
        return user

    def add(self, name: str, password: str, tags: "Iterable[str]" = ()) -> User:
        """Make a user with a password in clear; an empty one lets nobody in. Raises UserExistsError."""
        return self.add_hashed(name, hash_password(password) if password else b"", SHA256, tags)

    def add_hashed(self, name: str, password_hash: bytes, hashing_algorithm: str, tags: "Iterable[str]" = ()) -> User:
        """Make a user from a definitions file. Raises UserExistsError; ValueError for an unknown algorithm."""
        if name in self._users:
            raise UserExistsError(name)
        if hashing_algorithm not in HASHES:
            text = f"unknown password hashing algorithm {hashing_algorithm!r:.80}"
            raise ValueError(text)
        user = User(name, password_hash, hashing_algorithm, tags)
        self.take(user)
        durable.keep_user(self._definitions, user)
        return user

    def take(self, user: User) -> None:
        """Have a user that the definitions have already."""
        self._users[user.name] = user

    def delete(self, name: str) -> None:
        """Forget a user; sessions that still hold the object find it without any permission. Raises NoSuchUserError."""
        user = self.named(name)
        del self._users[name]
        durable.forget_user(self._definitions, user)
        user.permissions.clear()
        user.topic_permissions.clear()
        self._changed(user)

    def set_password(self, name: str, password: str) -> None:
        """Replace the password; an empty one lets nobody in. Raises NoSuchUserError."""
        user = self.named(name)
        user.password_hash = hash_password(password) if password else b""
        user.hashing_algorithm = SHA256
        durable.keep_user(self._definitions, user)

    def hashed(self, password: str) -> bytes:
        """Return salt and hash of a password as a user of this node gets them; nobody has it yet."""
        return hash_password(password)

    def set_tags(self, name: str, tags: "Iterable[str]") -> None:
        """Replace the tags. Raises NoSuchUserError."""
        user = self.named(name)
        user.tags = tuple(tags)
        durable.keep_user(self._definitions, user)

    def authenticate(self, name: str, password: str) -> User | None:
        """Return the user if the password is right. A name that does not exist costs the same work as one that does."""
        user = self._users.get(name)
        expected = self._nobody if user is None else user.password_hash
        algorithm = SHA256 if user is None else user.hashing_algorithm
        fits = password_fits(password, expected, algorithm)
        return user if fits and password else None

    def set_permissions(self, name: str, vhost_name: str, configure: str, write: str, read: str) -> None:
        """Grant what matches the three patterns in one vhost. Raises NoSuchUserError, PatternError."""
        user = self.named(name)
        user.permissions[vhost_name] = Permission(configure, write, read)
        durable.keep_permission(self._definitions, user, vhost_name)
        self._changed(user)

    def clear_permissions(self, name: str, vhost_name: str) -> None:
        """Take all permissions in one vhost away; the user cannot enter it any more. Raises NoSuchUserError."""
        user = self.named(name)
        if user.permissions.pop(vhost_name, None) is not None:
            durable.forget_permission(self._definitions, user, vhost_name)
        self._changed(user)

    def set_topic_permissions(self, name: str, vhost_name: str, exchange_name: str, write: str, read: str) -> None:
        """Restrict routing keys at one topic exchange. Raises NoSuchUserError, PatternError."""
        user = self.named(name)
        user.topic_permissions[vhost_name, exchange_name] = TopicPermission(vhost_name, name, write, read)
        durable.keep_topic_permission(self._definitions, user, vhost_name, exchange_name)
        self._changed(user)

    def clear_topic_permissions(self, name: str, vhost_name: str, exchange_name: str | None = None) -> None:
        """Lift the restriction at one exchange, or at all of a vhost. Raises NoSuchUserError."""
        user = self.named(name)
        for key in list(user.topic_permissions):
            if key[0] == vhost_name and exchange_name in (None, key[1]):
                del user.topic_permissions[key]
                durable.forget_topic_permission(self._definitions, user, *key)
        self._changed(user)

    def forget_vhost(self, vhost_name: str) -> None:
        """Take all permissions of a vhost that is being deleted."""
        for user in self._users.values():
            self.clear_permissions(user.name, vhost_name)
            self.clear_topic_permissions(user.name, vhost_name)

    def _changed(self, user: User) -> None:
        user.verdicts.clear()
        self.generation += 1


def hash_password(password: str) -> bytes:
    """Return salt and hash as RabbitMQ stores them (base64 of this is `password_hash` in a definitions file)."""
    salt = secrets.token_bytes(SALT_OCTETS)
    return salt + HASHES[SHA256](salt + octets_of(password)).digest()


def password_fits(password: str, password_hash: bytes, hashing_algorithm: str) -> bool:
    """Compare in constant time. A hash of the wrong length fits nothing."""
    salt, expected = password_hash[:SALT_OCTETS], password_hash[SALT_OCTETS:]
    computed = HASHES[hashing_algorithm](salt + octets_of(password)).digest()
    return hmac.compare_digest(computed, expected)


def octets_of(password: str) -> bytes:
    """Return a password's octets; a door decodes those that are no UTF-8 with `surrogateescape`."""
    return password.encode(errors="surrogateescape")
