"""list_node_auth_attempt_stats: how many tried to log in, and how many of them could."""

from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.control.spec import Column, Command, NoArgs, Node

if TYPE_CHECKING:
    from collections.abc import Iterable


# RabbitMQ's names of protocols.
PROTOCOLS: Final = {"AMQP 0-9-1": "amqp091", "HTTP": "http", "stream": "stream"}


class Row(NamedTuple):
    """One protocol."""

    protocol: str
    failed: int
    succeeded: int


def run(node: Node, args: NoArgs) -> "Iterable[Row]":
    """Return the protocols that anybody tried to log in with, and AMQP."""
    del args
    attempts = node.broker.logins.attempts
    tried = {name: (each.failed, each.succeeded) for name, each in attempts.items()}
    tried.setdefault("AMQP 0-9-1", (0, 0))
    return [Row(PROTOCOLS[name], *counts) for name, counts in sorted(tried.items())]


COLUMNS = (
    Column("protocol", lambda row: row.protocol, "amqp091, http or stream"),
    Column("auth_attempts", lambda row: row.failed + row.succeeded, "login attempts since the start or the last reset"),
    Column("auth_attempts_failed", lambda row: row.failed, "failed attempts"),
    Column("auth_attempts_succeeded", lambda row: row.succeeded, "successful attempts"),
)

COMMAND = Command(
    name="list_node_auth_attempt_stats",
    section="Monitoring",
    summary="Lists the numbers of login attempts, failures and successes",
    args=NoArgs,
    effect="read",
    access="monitoring",
    run=run,
    columns=COLUMNS,
    banner='Listing authentication\n attempts for node "{node}" ...',
)
