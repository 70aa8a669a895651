"""close_connection: close one connection by its id."""

from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

from pybroker.control.spec import Arg, Changed, Command, Node, Refused

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession


class Args(NamedTuple):
    """The connection, and the reason that its client is given."""

    pid: Annotated[
        str,
        Arg(
            "id of the connection, as the pid column of list_connections shows it",
            "",
            "connection pid",
            names="connection",
        ),
    ]
    reason: Annotated[str, Arg("reason sent to the client and logged", "", "explanation")]


def run(node: Node, args: Args) -> Changed:
    """Close it with 320; queues may go with it. Raises Refused when there is none of this id."""
    for session in cast("list[AmqpSession]", list(node.broker.sessions.values())):
        if session.pid == args.pid:
            session.close(320, args.reason)
            return Changed(node.broker.definitions.commit_position)
    raise Refused(f"no connection has the id {args.pid}; 'pybrokerctl list_connections pid name' lists all")


COMMAND = Command(
    name="close_connection",
    section="Operations",
    summary="Closes a connection",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner="Closing connection {pid}, reason: {reason}...",
)
