"""close_clients: connections are closed by a user of the HTTP API, of whom they are, or who is an administrator."""

from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

from pybroker.control.access import ADMINISTRATOR
from pybroker.control.arguments.lookup import missing
from pybroker.control.spec import EX_NOPERM, Arg, Changed, Command, Node, Refused

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession

NOT_ALLOWED = "User not authorised to access object"


class Args(NamedTuple):
    """One connection, or all of a user, and the reason that clients are given."""

    reason: Annotated[str, Arg("reason sent to the clients and logged")]
    name: Annotated[str | None, Arg("name of the connection", "--name")] = None
    username: Annotated[str | None, Arg("name of the user", "--user")] = None


def run(node: Node, args: Args) -> Changed:
    """Close them with 320; queues may go with them. Raises Refused."""
    # Differs from RabbitMQ: there the tag monitoring suffices to close the connections of others.
    is_free = ADMINISTRATOR in node.user.tags
    if not is_free and args.username not in {None, node.user.name}:
        raise Refused(NOT_ALLOWED, EX_NOPERM)
    chosen = [session for session in _open(node) if _is_meant(session, args)]
    if args.name is not None and not chosen:
        raise Refused(f"there is no connection '{args.name}'", facts=missing("connection"))
    if not is_free and any(session.user is None or session.user.name != node.user.name for session in chosen):
        raise Refused(NOT_ALLOWED, EX_NOPERM)
    for session in chosen:
        session.close(320, args.reason)
    return Changed(node.broker.definitions.commit_position)


def _open(node: Node) -> "list[AmqpSession]":
    sessions = cast("list[AmqpSession]", list(node.broker.sessions.values()))
    return [each for each in sessions if each.user is not None and each.state not in {"closing", "closed"}]


def _is_meant(session: "AmqpSession", args: Args) -> bool:
    assert session.user is not None
    return args.name in {None, session.name} and args.username in {None, session.user.name}


COMMAND = Command(
    name="close_clients",
    section="Operations",
    summary="Closes connections for a user of pybroker-web",
    args=Args,
    effect="destroy",
    access="management",
    run=run,
)
