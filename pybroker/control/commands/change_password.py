"""change_password: another password for a user. Connections that stand go on."""

from typing import Annotated, NamedTuple

from pybroker.control.lookup import find_user
from pybroker.control.spec import Arg, Command, Node


class Args(NamedTuple):
    """Name and password."""

    username: Annotated[str, Arg("name of the user", names="user")]
    password: Annotated[
        str, Arg("new password; an empty one lets nobody in; asked for if missing", prompt="Password: ", secret=True)
    ]


def run(node: Node, args: Args) -> None:
    """Replace the password. Raises Refused."""
    node.broker.users.set_password(find_user(node.broker, args.username).name, args.password)


COMMAND = Command(
    name="change_password",
    section="Users",
    summary="Changes the password of a user",
    args=Args,
    effect="write",
    run=run,
    banner='Changing password for user "{username}" ...',
)
