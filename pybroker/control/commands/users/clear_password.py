"""clear_password: no password lets the user in any more."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """The user."""

    username: Annotated[str, Arg("name of the user", names="user")]


def run(node: Node, args: Args) -> Changed:
    """Take the password away. Raises Refused."""
    return Changed(node.broker.users.clear_password(find_user(node.broker, args.username).name, node.cause))


COMMAND = Command(
    name="clear_password",
    section="Users",
    summary="Clears the password of a user, which disables password login",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Clearing password for user "{username}" ...',
)
