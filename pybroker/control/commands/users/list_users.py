"""list_users: who may log in."""

from typing import TYPE_CHECKING

from pybroker.control.spec import Column, Command, NoArgs, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.auth.users import User


def run(node: Node, args: NoArgs) -> "Iterable[User]":
    """Return the users in the order they were added."""
    del args
    return list(node.broker.users)


COLUMNS = (
    Column("user", lambda u: u.name, "name"),
    Column("tags", lambda u: list(u.tags), "tags, such as administrator"),
)

COMMAND = Command(
    name="list_users",
    section="Users",
    summary="Lists user names and tags",
    args=NoArgs,
    effect="read",
    access="administrator",
    run=run,
    columns=COLUMNS,
    banner="Listing users ...",
)
