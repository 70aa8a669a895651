"""Users, what they may do, and their limits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.control.access import ADMINISTRATOR
from pybroker.control.commands.access_control import list_permissions, list_topic_permissions
from pybroker.control.commands.users import list_users
from pybroker.control.objects.kind import Kind, View, readers

if TYPE_CHECKING:
    from pybroker.core.auth.permissions import Permission, TopicPermission
    from pybroker.core.auth.users import User


class _Permission(NamedTuple):
    """A user's patterns in a virtual host; `exchange` is that of topic permissions."""

    user: str
    vhost: str
    permission: "Permission | TopicPermission"
    exchange: str = ""


def _permissions(view: View) -> Iterator[_Permission]:
    shown = {vhost.name for vhost in view.vhosts}
    for user in list(view.broker.users):
        for vhost, permission in list(user.permissions.items()):
            if vhost in shown:
                yield _Permission(user.name, vhost, permission)


def _topic_permissions(view: View) -> Iterator[_Permission]:
    shown = {vhost.name for vhost in view.vhosts}
    for user in list(view.broker.users):
        for (vhost, exchange), permission in list(user.topic_permissions.items()):
            if vhost in shown:
                yield _Permission(user.name, vhost, permission, exchange)


def _limits(view: View) -> "Iterator[User]":
    """Yield users with limits; one's own for those who see only what is theirs."""
    for user in list(view.broker.users):
        if user.limits and view.user in {None, user.name}:
            yield user


def _password_hash(user: Any) -> str:
    from base64 import b64encode  # noqa: PLC0415 - pybrokerctl needs it for nothing else

    return b64encode(user.password_hash).decode()


def _vhost(row: _Permission) -> str:
    return row.vhost


USERS: Final = Kind(
    lambda view: list(view.broker.users),
    readers(
        list_users.COLUMNS,
        password_hash=_password_hash,
        hashing_algorithm=lambda u: u.hashing_algorithm,
        limits=lambda u: u.limits,
        has_permissions=lambda u: bool(u.permissions),
    ),
    lambda view, keys: [user for (name,) in keys if (user := view.broker.users.get(name)) is not None],
    access=ADMINISTRATOR,
)
LIMITS: Final = Kind(_limits, {"user": lambda u: u.name, "value": lambda u: u.limits})
PERMISSIONS: Final = Kind(_permissions, readers(list_permissions.COLUMNS, vhost=_vhost), access=ADMINISTRATOR)
TOPIC_PERMISSIONS: Final = Kind(
    _topic_permissions, readers(list_topic_permissions.COLUMNS, vhost=_vhost), access=ADMINISTRATOR
)
