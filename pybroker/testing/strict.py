"""The strict mode: faults of an application that no assertion of its tests looks for, a sentence each.

Some show when the test function has ended (`after_call`), the others when all that the test used is closed
(`after_teardown`). Both wait a moment for what is on its way.
"""

from collections import Counter
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from pybroker.testing.published import peek, shown
from pybroker.testing.queue_view import counts_of
from pybroker.testing.waiting import wait_for

if TYPE_CHECKING:
    from pybroker.testing.vhost import VirtualHost

GRACE_S: Final = 1.0
# A channel for each thread is usual, one for each message is a leak.
CHANNELS_MAX: Final = 20

ALL: Final = frozenset({"unroutable", "unacknowledged", "left", "channels", "connections"})
DEFAULT: Final = ALL - {"left"}
# It routes a message when that is due.
DELAYING: Final = "x-delayed-message"


def parse_checks(value: object) -> frozenset[str]:
    """Return the checks that a setting stands for: true, false, all, or names. Raises ValueError."""
    text = str(value).strip()
    by_word = {"": frozenset[str](), "false": frozenset[str](), "true": DEFAULT, "all": ALL}
    if text.lower() in by_word:
        return by_word[text.lower()]
    names = frozenset(text.replace(",", " ").split() if isinstance(value, str) else map(str, value))  # type: ignore[call-overload]
    if names - ALL:
        unknown, known = ", ".join(sorted(names - ALL)), ", ".join(sorted(ALL))
        raise ValueError(f"the strict mode of pybroker has no check {unknown}; it has {known}, true, false and all")
    return names


def after_call(vhost: "VirtualHost", checks: AbstractSet[str]) -> list[str]:
    """Return what is wrong when the test function has ended."""
    checks = checks - vhost.allowed
    found = []
    if "unroutable" in checks:
        found += _unroutable(vhost)
        if found:
            vhost.allow("unroutable")  # they are not told twice
    if "unacknowledged" in checks:
        found += _unacknowledged(vhost)
    if "left" in checks:
        found += _left(vhost)
    if "channels" in checks:
        found += _channels(vhost)
    return found


def after_teardown(vhost: "VirtualHost", checks: AbstractSet[str]) -> list[str]:
    """Return what is wrong when the test's own things are closed."""
    checks = checks - vhost.allowed
    found = []
    if "connections" in checks:
        found += _connections(vhost)
    if "unroutable" in checks:
        # Without confirms, some may have arrived with the end of their connection.
        found += _unroutable(vhost)
    if "unacknowledged" in checks:
        found += _returned(vhost)
    return found


def _unroutable(vhost: "VirtualHost") -> list[str]:
    lost = [message for message in vhost.collect() if not message.queues]
    if lost:
        rows = vhost.broker.request("list_exchanges", vhost=vhost.name, columns=["name", "type"])
        delaying = {row["name"] for row in rows if row["type"] == DELAYING}
        lost = [message for message in lost if message.exchange not in delaying]
    if not lost:
        return []
    told = f"{_counted(len(lost), 'message')} reached no queue:\n{shown(lost)}\n"
    for exchange in dict.fromkeys(message.exchange for message in lost):
        if not exchange:
            told += "The default exchange routes to the queue that the routing key names: is it declared? "
            continue
        keys = _bindings(vhost, exchange)
        told += f"Exchange {exchange!r} has {'the bindings ' + keys if keys else 'no bindings'}. "
    return [f"{told}Look at routing key and bindings, and at what is declared before the first publish."]


def _bindings(vhost: "VirtualHost", exchange: str) -> str:
    columns = ["source_name", "routing_key", "destination_name"]
    rows = vhost.broker.request("list_bindings", vhost=vhost.name, columns=columns)
    mine = [row for row in rows if row["source_name"] == exchange]
    return ", ".join(f"{row['routing_key']!r} -> {row['destination_name']}" for row in mine)


def _unacknowledged(vhost: "VirtualHost") -> list[str]:
    queues = wait_for(
        lambda: {name: each["unacknowledged"] for name, each in counts_of(vhost).items() if each["unacknowledged"]},
        lambda found: not found,
        GRACE_S,
    )
    if not queues:
        return []
    columns = ["vhost", "name", "messages_unacknowledged"]
    rows = vhost.broker.request("list_channels", columns=columns)
    holders = [row["name"] for row in rows if row["vhost"] == vhost.name and row["messages_unacknowledged"]]
    vhost.unacknowledged.update(queues)
    told = " and ".join(f"{_counted(count, 'message')} of queue {name!r}" for name, count in queues.items())
    return [
        (
            f"{told} delivered, but not acknowledged when the test had ended. They are with {_channels_told(holders)}. "
            "Look for a way through the consumer that ends without an acknowledgement: an exception, an early return, "
            "or a test that does not wait for it."
        )
    ]


def _channels_told(names: list[str]) -> str:
    """Return channels by name: `ADDRESSES (NUMBER)`."""
    return ", ".join(f"the channel {name}" for name in names) or "a channel that is closed by now"


def _left(vhost: "VirtualHost") -> list[str]:
    queues = wait_for(
        lambda: {name: each["ready"] for name, each in counts_of(vhost).items() if each["ready"]},
        lambda found: not found,
        GRACE_S,
    )
    if not queues:
        return []
    told = " and ".join(f"{_counted(count, 'message')} in queue {name!r}" for name, count in queues.items())
    return [f"{told} left when the test had ended. Look for the consumer: does it run, and is this the queue it reads?"]


def _channels(vhost: "VirtualHost") -> list[str]:
    return [
        f"{row['channels']} channels are open on the connection {_connection_told(row)}. "
        "Look for code that opens a channel for each message or task, and does not close it."
        for row in vhost.connections()
        if row["channels"] > CHANNELS_MAX
    ]


def _connections(vhost: "VirtualHost") -> list[str]:
    rows = wait_for(vhost.connections, lambda found: not found, GRACE_S)
    alike = Counter(_client_told(row) for row in rows)
    return [
        f"{_counted(count, 'connection')} still open after the test: {told}. Close what the test, or a fixture of it, "
        "has opened; look for a missing close() or `with`, and for a thread that still runs."
        for told, count in alike.items()
    ]


def _connection_told(row: dict[str, object]) -> str:
    return f"{row['name']} ({_client_told(row)})"


def _client_told(row: dict[str, object]) -> str:
    """Return what a client says of itself."""
    table = row["client_properties"]
    facts = {key: value for key, _, value in table} if isinstance(table, list) else {}
    product = f"{facts.get('product', 'unknown client')} {facts.get('version', '')}".strip()
    name = row["user_provided_name"]
    return f"{product}{f', named {name!r}' if name else ''}, {_counted(int(str(row['channels'])), 'channel')}"


def _returned(vhost: "VirtualHost") -> list[str]:
    found = []
    for queue, counts in counts_of(vhost).items():
        if not counts["ready"] or queue in vhost.unacknowledged:
            continue  # none, or told before they were back
        messages = peek(vhost.broker, vhost.name, queue, body_size=0)
        count = sum(message["redelivered"] for message in messages)
        if count:
            found.append(
                f"{_counted(count, 'message')} of queue {queue!r} delivered, and back in the queue without an "
                "acknowledgement. Look for a channel or connection that is closed before its messages are "
                "acknowledged, and for a message that is requeued for ever."
            )
    return found


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
