"""list_user_permissions: permissions of one user, in every virtual host."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import Arg, Column, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.auth.permissions import Permission


class Args(NamedTuple):
    """The user."""

    username: Annotated[str, Arg("name of the user", names="user")]


class Row(NamedTuple):
    """The patterns in one virtual host."""

    vhost: str
    permission: "Permission"


def run(node: Node, args: Args) -> "Iterable[Row]":
    """Return the virtual hosts the user may enter, in the order they were granted. Raises Refused."""
    user = find_user(node.broker, args.username)
    return [Row(vhost, permission) for vhost, permission in user.permissions.items()]


COLUMNS = (
    Column("vhost", lambda row: row.vhost, "virtual host"),
    Column(
        "configure", lambda row: row.permission.text("configure"), "pattern of names that may be declared and deleted"
    ),
    Column("write", lambda row: row.permission.text("write"), "pattern of names that may be published or bound to"),
    Column("read", lambda row: row.permission.text("read"), "pattern of names that may be consumed or bound from"),
)

COMMAND = Command(
    name="list_user_permissions",
    section="Access Control",
    summary="Lists the permissions of a user in all virtual hosts",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=COLUMNS,
    banner='Listing permissions for user "{username}" ...',
)
