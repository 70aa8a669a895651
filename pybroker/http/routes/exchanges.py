"""Exchanges. In a path `amq.default` is the one without a name."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http import lists
from pybroker.http.errors import not_found
from pybroker.http.route import Route
from pybroker.http.shapes import BINDING, EXCHANGE

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document

DEFAULT: Final = "amq.default"


def exchange_name(word: str) -> str:
    """Return the name of an exchange that is a part of a path."""
    return "" if word == DEFAULT else word


def _list(call: "Call", vhost: str | None = None) -> Any:
    return lists.answer(call, EXCHANGE.documents(call, vhost))


def _get(call: "Call", vhost: str, name: str) -> "Document":
    found = EXCHANGE.one(call, vhost, exchange_name(name), only=vhost)
    if found is None:
        raise not_found()
    return found


def _bindings(end: str, call: "Call", vhost: str, name: str) -> Any:
    """Answer with the bindings of which an exchange is the one end or the other."""
    name = _get(call, vhost, name)["name"]
    found = (each for each in BINDING.documents(call, vhost) if each[end] == name)
    if end == "destination":
        found = (each for each in found if each["destination_type"] == "exchange")
    return lists.answer(call, found, lists.BINDING_SORT)


def _bindings_from(call: "Call", vhost: str, name: str) -> Any:
    return _bindings("source", call, vhost, name)


def _bindings_to(call: "Call", vhost: str, name: str) -> Any:
    return _bindings("destination", call, vhost, name)


ROUTES: Final = (
    Route("GET", "/api/exchanges", MANAGEMENT, _list),
    Route("GET", "/api/exchanges/<vhost>", MANAGEMENT, _list),
    Route("GET", "/api/exchanges/<vhost>/<name>", MANAGEMENT, _get),
    Route("GET", "/api/exchanges/<vhost>/<name>/bindings/source", MANAGEMENT, _bindings_from),
    Route("GET", "/api/exchanges/<vhost>/<name>/bindings/destination", MANAGEMENT, _bindings_to),
)
