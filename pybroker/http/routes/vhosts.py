"""Virtual hosts."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT
from pybroker.http import lists
from pybroker.http.errors import not_found
from pybroker.http.route import Route
from pybroker.http.shapes import CHANNEL, CONNECTION, PERMISSION, TOPIC_PERMISSION, VHOST

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document


def _list(call: "Call") -> Any:
    return lists.answer(call, VHOST.documents(call), ("name",))


def _get(call: "Call", vhost: str) -> "Document":
    found = VHOST.one(call, vhost, only=vhost)
    if found is None:
        raise not_found()
    return found


def _permissions(call: "Call", vhost: str) -> Any:
    return lists.answer(call, PERMISSION.documents(call, vhost), ("vhost", "user"))


def _topic_permissions(call: "Call", vhost: str) -> Any:
    return lists.answer(call, TOPIC_PERMISSION.documents(call, vhost), ("vhost", "user", "exchange"))


def _connections(call: "Call", vhost: str) -> Any:
    return lists.answer(call, CONNECTION.documents(call, vhost))


def _channels(call: "Call", vhost: str) -> Any:
    return lists.answer(call, CHANNEL.documents(call, vhost))


ROUTES: Final = (
    Route("GET", "/api/vhosts", MANAGEMENT, _list),
    Route("GET", "/api/vhosts/<vhost>", ADMINISTRATOR, _get),
    Route("GET", "/api/vhosts/<vhost>/permissions", ADMINISTRATOR, _permissions),
    Route("GET", "/api/vhosts/<vhost>/topic-permissions", ADMINISTRATOR, _topic_permissions),
    Route("GET", "/api/vhosts/<vhost>/connections", MANAGEMENT, _connections),
    Route("GET", "/api/vhosts/<vhost>/channels", MANAGEMENT, _channels),
)
