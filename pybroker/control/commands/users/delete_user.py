"""delete_user: delete a user and close their connections."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """The user."""

    username: Annotated[str, Arg("name of the user", names="user")]


def run(node: Node, args: Args) -> Changed:
    """Delete the user; close their connections with 320. Raises Refused."""
    over: list[int] = []
    node.broker.delete_user(find_user(node.broker, args.username).name, over.append, cause=node.cause)
    return Changed(node.wait(over))


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
