"""list_user_limits: how many connections and channels users may have."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.arguments.policies import as_json
from pybroker.control.spec import Arg, Column, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.auth.users import User


class Args(NamedTuple):
    """One user, or all."""

    user: Annotated[str, Arg("name of the user", "--user", names="user")] = "guest"
    all_users: Annotated[bool, Arg("list all users that have limits", "--global")] = False


def run(node: Node, args: Args) -> "Iterable[User] | dict[str, Any]":
    """Return all users with limits, or the document of one. Raises Refused."""
    if args.all_users:
        return [user for user in node.broker.users if user.limits]
    text = as_json(find_user(node.broker, args.user).limits)
    return node.result(text, value=text)


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner."""
    return "Listing limits for all users ..." if args.all_users else 'Listing limits for user "{user}" ...'


COLUMNS = (
    Column("user", lambda u: u.name, "name of the user"),
    Column("limits", lambda u: as_json(u.limits), "limits, as JSON"),
)

COMMAND = Command(
    name="list_user_limits",
    section="Users",
    summary="Displays the limits of a user as JSON, or lists all users that have limits",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=COLUMNS,
    banner=banner,
)
