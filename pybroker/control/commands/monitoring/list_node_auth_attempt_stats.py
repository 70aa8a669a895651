"""list_node_auth_attempt_stats: how many tried to log in, and how many of them could."""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.control.spec import Column, Command, NoArgs, Node

if TYPE_CHECKING:
    from collections.abc import Iterable


class Row(NamedTuple):
    """One protocol."""

    failed: int
    succeeded: int


def run(node: Node, args: NoArgs) -> "Iterable[Row]":
    """Return the one protocol there is."""
    del args
    logins = node.broker.logins
    return [Row(logins.failed, logins.succeeded)]


COLUMNS = (
    Column("protocol", lambda _: "amqp091", "always amqp091"),
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
