"""Names that operators type, turned into nouns: one sentence for everything that does not exist, with the nearest name.

# Differs from RabbitMQ: an unknown name is always refused with one sentence and exit code 65 (67 for users); there,
`list_queues -p nosuch` succeeds, `purge_queue` ends with 69 and `delete_queue` with 64.
"""

from typing import TYPE_CHECKING, Any

from pybroker.control.arguments.nearest import nearest
from pybroker.control.spec import EX_NOUSER, Refused

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.vhost import VHost


def missing(noun: str) -> dict[str, str]:
    """Return what programs are told of a refusal because there is no such noun."""
    return {"missing": noun}


def find_vhost(broker: "Broker", name: str) -> "VHost":
    """Return the virtual host. Raises Refused."""
    vhost = broker.vhosts.get(name)
    if vhost is None:
        raise Refused(f"Virtual host '{name}' does not exist" + nearest(name, broker.vhosts), facts=missing("vhost"))
    return vhost


def find_queue(vhost: "VHost", name: str) -> "Queue":
    """Return the queue. Raises Refused."""
    queue = vhost.queues.get(name)
    if queue is None:
        text = f"queue '{name}' was not found in virtual host '{vhost.name}'"
        raise Refused(text + nearest(name, vhost.queues), facts=missing("queue"))
    return queue


def find_exchange(vhost: "VHost", name: str) -> "Exchange":
    """Return the exchange. Raises Refused."""
    exchange = vhost.exchanges.get(name)
    if exchange is None:
        text = f"exchange '{name}' was not found in virtual host '{vhost.name}'"
        raise Refused(text + nearest(name, vhost.exchanges), facts=missing("exchange"))
    return exchange


def find_user(broker: "Broker", name: str) -> "User":
    """Return the user. Raises Refused."""
    user = broker.users.get(name)
    if user is None:
        hint = nearest(name, (user.name for user in broker.users))
        raise Refused(f'User "{name}" does not exist{hint}', EX_NOUSER, missing("user"))
    return user


def find_connections(broker: "Broker", name: str) -> list[Any]:
    """Return connections with this id or name, or so named by their clients. Raises Refused when there is none."""
    sessions: list[Any] = list(broker.sessions.values())
    # Most clients have no name: an empty one is none of theirs.
    found = [each for each in sessions if name and name in {each.pid, each.name, each.client_name}]
    if not found:
        text = f"no connection has the id or name {name}"
        raise Refused(f"{text}; 'pybrokerctl list_connections pid name' lists all", facts=missing("connection"))
    return found
