"""Users and their permissions as rows of the definitions, saved when they are set, forgotten when they go.

Each function returns the commit position to wait for. A value is what RabbitMQ's definitions files have. `load.py` is
the way back.
"""

from base64 import b64encode
from typing import TYPE_CHECKING

from pybroker.core.auth.permissions import CONFIGURE, READ, WRITE

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.store.definitions.definitions import Definitions


def save_user(definitions: "Definitions", user: "User") -> int:
    """Save a user's name, password hash, tags and limits."""
    value = {
        "password_hash": b64encode(user.password_hash).decode(),
        "hashing_algorithm": user.hashing_algorithm,
        "tags": list(user.tags),
        "limits": dict(user.limits),
    }
    return definitions.put("user", (user.name,), value)


def forget_user(definitions: "Definitions", user: "User") -> int:
    """Forget a user that is deleted, with all permissions."""
    for vhost_name in user.permissions:
        forget_permission(definitions, user, vhost_name)
    for vhost_name, exchange_name in user.topic_permissions:
        forget_topic_permission(definitions, user, vhost_name, exchange_name)
    return definitions.remove("user", (user.name,))


def save_permission(definitions: "Definitions", user: "User", vhost_name: str) -> int:
    """Save what a user may do in a virtual host."""
    permission = user.permissions[vhost_name]
    value = {each: permission.text(each) for each in (CONFIGURE, WRITE, READ)}
    return definitions.put("permission", (user.name, vhost_name), value)


def forget_permission(definitions: "Definitions", user: "User", vhost_name: str) -> int:
    """Forget what a user may do in a virtual host."""
    return definitions.remove("permission", (user.name, vhost_name))


def save_topic_permission(definitions: "Definitions", user: "User", vhost_name: str, exchange_name: str) -> int:
    """Save which routing keys a user may use at a topic exchange."""
    permission = user.topic_permissions[vhost_name, exchange_name]
    value = {each: permission.text(each) for each in (WRITE, READ)}
    return definitions.put("topic_permission", (user.name, vhost_name, exchange_name), value)


def forget_topic_permission(definitions: "Definitions", user: "User", vhost_name: str, exchange_name: str) -> int:
    """Forget which routing keys a user may use at a topic exchange."""
    return definitions.remove("topic_permission", (user.name, vhost_name, exchange_name))
