"""list_user_limits: how many connections and channels users may have."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.lookup import find_user
from pybroker.control.policies import as_json
from pybroker.control.spec import Arg, Column, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.users import User


class Args(NamedTuple):
    """One user, or all."""

    user: Annotated[str, Arg("name of the user", "--user", names="user")] = "guest"
    all_users: Annotated[bool, Arg("all users that have limits", "--global")] = False


def run(node: Node, args: Args) -> "Iterable[User]":
    """Return the user, with limits or without, or all users with limits. Raises Refused."""
    if args.all_users:
        return [user for user in node.broker.users if user.limits]
    return [find_user(node.broker, args.user)]


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner."""
    return "Listing limits for all users ..." if args.all_users else 'Listing limits for user "{user}" ...'


# Differs from RabbitMQ: of one user too this is a table; rabbitmqctl shows the bare document then.
COLUMNS = (
    Column("user", lambda u: u.name, "name of the user"),
    Column("limits", lambda u: as_json(u.limits), "limits, as JSON"),
)

COMMAND = Command(
    name="list_user_limits",
    section="Users",
    summary="Lists the limits of a user, or of all",
    args=Args,
    effect="read",
    run=run,
    columns=COLUMNS,
    banner=banner,
)
