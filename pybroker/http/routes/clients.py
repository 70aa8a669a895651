"""Connections, channels and consumers; of those without the tag monitoring their own."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http import lists
from pybroker.http.errors import not_found
from pybroker.http.route import DONE, Reply, Route
from pybroker.http.shapes import CHANNEL, CONNECTION, CONSUMER, of_type

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document


def _connections(call: "Call") -> Any:
    return lists.answer(call, CONNECTION.documents(call))


def _connection(call: "Call", name: str) -> "Document":
    found = CONNECTION.one(call, name)
    if found is None:
        raise not_found()
    return found


def _close(call: "Call", name: str) -> Reply:
    call.ask("close_clients", name=name, reason=call.reason)
    return DONE


def _close_of_user(call: "Call", user: str) -> Reply:
    call.ask("close_clients", username=user, reason=call.reason)
    return DONE


def _of_user(call: "Call", user: str) -> Any:
    found = (each for each in CONNECTION.documents(call) if each["user"] == user)
    return lists.answer(call, found)


def _channels_of(call: "Call", name: str) -> Any:
    _connection(call, name)
    found = (each for each in CHANNEL.documents(call) if each["connection_details"]["name"] == name)
    return lists.answer(call, found)


def _sessions_of(call: "Call", name: str) -> list[Any]:
    """Answer with the sessions of AMQP 1.0, of which there are none."""
    _connection(call, name)
    return []


def _channels(call: "Call") -> Any:
    return lists.answer(call, CHANNEL.documents(call))


def _channel(call: "Call", name: str) -> "Document":
    found = CHANNEL.one(call, name)
    if found is None:
        raise not_found()
    consumers = list(map(of_type, CONSUMER.documents(call, None, [("channel", name)])))
    return {**found, "consumer_details": consumers, "publishes": [], "deliveries": []}


def _consumers(call: "Call", vhost: str | None = None) -> Any:
    return lists.answer(
        call, map(of_type, CONSUMER.documents(call, vhost)), ("queue.vhost", "queue.name", "consumer_tag")
    )


ROUTES: Final = (
    Route("GET", "/api/connections", MANAGEMENT, _connections),
    Route("GET", "/api/connections/<name>", MANAGEMENT, _connection),
    Route("DELETE", "/api/connections/<name>", MANAGEMENT, _close),
    Route("GET", "/api/connections/<name>/channels", MANAGEMENT, _channels_of),
    Route("GET", "/api/connections/<name>/sessions", MANAGEMENT, _sessions_of),
    Route("GET", "/api/connections/username/<user>", MANAGEMENT, _of_user),
    Route("DELETE", "/api/connections/username/<user>", MANAGEMENT, _close_of_user),
    Route("GET", "/api/channels", MANAGEMENT, _channels),
    Route("GET", "/api/channels/<name>", MANAGEMENT, _channel),
    Route("GET", "/api/consumers", MANAGEMENT, _consumers),
    Route("GET", "/api/consumers/<vhost>", MANAGEMENT, _consumers),
)
