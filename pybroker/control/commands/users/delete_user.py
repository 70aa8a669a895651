"""delete_user: delete a user and close their connections."""

from functools import partial
from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import Arg, Command, Node


class Args(NamedTuple):
    """The user."""

    username: Annotated[str, Arg("name of the user", names="user")]


def run(node: Node, args: Args) -> None:
    """Delete the user; close their connections with 320. Raises Refused."""
    over: list[None] = []
    node.broker.delete_user(find_user(node.broker, args.username).name, partial(over.append, None))
    node.wait(over)


COMMAND = Command(
    name="delete_user",
    section="Users",
    summary="Deletes a user and closes the user's connections",
    args=Args,
    effect="destroy",
    access="administrator",
    run=run,
    banner='Deleting user "{username}" ...',
)
