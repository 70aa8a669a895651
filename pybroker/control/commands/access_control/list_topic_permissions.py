"""list_topic_permissions: restrictions of users to routing keys, in a virtual host."""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.auth.permissions import TopicPermission


class Args(NamedTuple):
    """The virtual host."""

    vhost: VHostArg = "/"


class Row(NamedTuple):
    """One user's patterns at one exchange."""

    user: str
    exchange: str
    permission: "TopicPermission"


def run(node: Node, args: Args) -> "Iterable[Row]":
    """Return the restrictions, user by user. Raises Refused."""
    name = find_vhost(node.broker, args.vhost).name
    return [
        Row(user.name, exchange, permission)
        for user in node.broker.users
        for (vhost, exchange), permission in user.topic_permissions.items()
        if vhost == name
    ]


COLUMNS = (
    Column("user", lambda row: row.user, "name of the user"),
    Column("exchange", lambda row: row.exchange, "topic exchange"),
    Column("write", lambda row: row.permission.text("write"), "pattern of the routing keys that may be published"),
    Column("read", lambda row: row.permission.text("read"), "pattern of the routing keys that may be bound"),
)

COMMAND = Command(
    name="list_topic_permissions",
    section="Access Control",
    summary="Lists the topic permissions of all users in a virtual host",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=COLUMNS,
    banner='Listing topic permissions for vhost "{vhost}" ...',
)
