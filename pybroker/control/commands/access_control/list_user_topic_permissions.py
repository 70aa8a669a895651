"""list_user_topic_permissions: to which routing keys one user is restricted, in every virtual host."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import Arg, Column, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.auth.permissions import TopicPermission


class Args(NamedTuple):
    """The user."""

    username: Annotated[str, Arg("name of the user", names="user")]


class Row(NamedTuple):
    """The patterns at one exchange."""

    vhost: str
    exchange: str
    permission: "TopicPermission"


def run(node: Node, args: Args) -> "Iterable[Row]":
    """Return the restrictions, in the order they were set. Raises Refused."""
    user = find_user(node.broker, args.username)
    return [Row(*key, permission) for key, permission in user.topic_permissions.items()]


COLUMNS = (
    Column("vhost", lambda row: row.vhost, "virtual host"),
    Column("exchange", lambda row: row.exchange, "topic exchange"),
    Column("write", lambda row: row.permission.text("write"), "pattern of the routing keys that may be published"),
    Column("read", lambda row: row.permission.text("read"), "pattern of the routing keys that may be bound"),
)

COMMAND = Command(
    name="list_user_topic_permissions",
    section="Access Control",
    summary="Lists the topic permissions of a user in all virtual hosts",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=COLUMNS,
    banner='Listing topic permissions for user "{username}" ...',
)
