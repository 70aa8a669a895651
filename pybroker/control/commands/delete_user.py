"""delete_user: remove a user and close his connections."""

from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

from pybroker.control.lookup import find_user
from pybroker.control.spec import Arg, Command, Node

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession


class Args(NamedTuple):
    """The user."""

    username: Annotated[str, Arg("name of the user", names="user")]


def run(node: Node, args: Args) -> None:
    """Remove the user; his connections are closed with 320. Raises Refused."""
    user = find_user(node.broker, args.username)
    node.broker.users.delete(user.name)
    for session in cast("list[AmqpSession]", list(node.broker.sessions.values())):
        if session.user is user:
            session.close(320, f"user '{user.name}' is deleted")


COMMAND = Command(
    name="delete_user",
    section="Users",
    summary="Removes a user and closes the connections of that user",
    args=Args,
    effect="destroy",
    run=run,
    banner='Deleting user "{username}" ...',
)
