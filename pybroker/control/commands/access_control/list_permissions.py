"""list_permissions: permissions of all users in a virtual host."""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Column, Command, Node, VHostArg

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.auth.permissions import Permission


class Args(NamedTuple):
    """The virtual host."""

    vhost: VHostArg = "/"


class Row(NamedTuple):
    """One user's patterns."""

    user: str
    permission: "Permission"


def run(node: Node, args: Args) -> "Iterable[Row]":
    """Return the users who may enter, in the order they were added."""
    name = find_vhost(node.broker, args.vhost).name
    return [Row(user.name, user.permissions[name]) for user in node.broker.users if name in user.permissions]


COLUMNS = (
    Column("user", lambda row: row.user, "name of the user"),
    Column(
        "configure", lambda row: row.permission.text("configure"), "pattern of names that may be declared and deleted"
    ),
    Column("write", lambda row: row.permission.text("write"), "pattern of names that may be published or bound to"),
    Column("read", lambda row: row.permission.text("read"), "pattern of names that may be consumed or bound from"),
)

COMMAND = Command(
    name="list_permissions",
    section="Access Control",
    summary="Lists the permissions of all users in a virtual host",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=COLUMNS,
    banner='Listing permissions for vhost "{vhost}" ...',
)
