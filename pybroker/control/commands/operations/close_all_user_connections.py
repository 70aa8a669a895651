"""close_all_user_connections: close whatever a user has open."""

from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import Arg, Changed, Command, Node

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession


class Args(NamedTuple):
    """The user, and the reason that clients are given."""

    username: Annotated[str, Arg("name of the user", names="user")]
    reason: Annotated[str, Arg("reason sent to the clients and logged", "", "explanation")]


def run(node: Node, args: Args) -> Changed:
    """Close them with 320; return how many. Raises Refused for an unknown user."""
    user = find_user(node.broker, args.username)
    sessions = cast("list[AmqpSession]", list(node.broker.sessions.values()))
    chosen = [session for session in sessions if session.user is user and session.state not in {"closing", "closed"}]
    for session in chosen:
        session.close(320, args.reason)
    return Changed(node.broker.definitions.commit_position, f"Closed {len(chosen)} connections")


COMMAND = Command(
    name="close_all_user_connections",
    section="Operations",
    summary="Closes the connections of a user, in all virtual hosts",
    args=Args,
    effect="destroy",
    access="administrator",
    run=run,
    banner="Closing connections of user {username}, reason: {reason}...",
)
