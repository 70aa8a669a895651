"""change_password: another password for a user. Connections that stand go on."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.arguments.passwords import hashed
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """Name and password."""

    username: Annotated[str, Arg("name of the user", names="user")]
    password: Annotated[
        str,
        Arg(
            "new password, prompted for if omitted; with an empty one the user can log in by certificate only",
            prompt="Password: ",
            secret=True,
        ),
    ]


def run(node: Node, args: Args) -> Changed:
    """Replace the password. Raises Refused."""
    find_user(node.broker, args.username)
    password_hash, algorithm = hashed(node, args.password)
    name = find_user(node.broker, args.username).name  # others went on while the password was hashed
    return Changed(node.broker.users.set_hashed(name, password_hash, algorithm, node.cause))


COMMAND = Command(
    name="change_password",
    section="Users",
    summary="Changes the password of a user",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Changing password for user "{username}" ...',
)
