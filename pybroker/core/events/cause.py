"""Cause: why something was made, changed or deleted, and who wanted it: for events and for the audit log.

It is an argument of each operation, from the client's method or the command down to the event.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pybroker.core.channel.state import SessionState

# RabbitMQ's names for causes that are not users (rabbit.hrl, rabbitmqctl).
INTERNAL_USER: Final = "rmq-internal"
COMMAND_USER: Final = "rmq-cli"


class Cause(NamedTuple):
    """`why` in the words of the audit log, `user` as RabbitMQ's `user_who_performed_action`.

    `connection` is the name of the client's connection, or says which caller of the control socket it was.
    """

    why: str
    user: str = INTERNAL_USER
    connection: str = ""


BROKER: Final = Cause("the broker itself")


def by_client(session: "SessionState") -> Cause:
    """Return the cause of what a client asked for."""
    return Cause("client", session.user.name if session.user is not None else INTERNAL_USER, session.name)


def because(why: str, session: "SessionState | None" = None) -> Cause:
    """Return the cause of what the broker did by itself, and whose connection gave the occasion."""
    return Cause(why, INTERNAL_USER, session.name if session is not None else "")
