"""Queues."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http import lists
from pybroker.http.errors import not_found
from pybroker.http.route import Route
from pybroker.http.shapes import BINDING, CONSUMER, QUEUE, QUEUE_BASICS, QUEUE_NAMES, QUEUE_TOTALS

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document
    from pybroker.http.shapes import Shape


def _shape(call: "Call") -> "Shape":
    """Return what of each queue is asked for."""
    if call.flag("disable_stats"):
        return QUEUE_TOTALS if call.flag("enable_queue_totals") else QUEUE_NAMES
    return QUEUE if "columns" in call.query else QUEUE_BASICS


def _list(call: "Call", vhost: str | None = None) -> Any:
    return lists.answer(call, map(_plain, _shape(call).documents(call, vhost)))


def _list_detailed(call: "Call") -> Any:
    return lists.answer(call, map(_plain, QUEUE.documents(call)))


def _get(call: "Call", vhost: str, name: str) -> "Document":
    found = QUEUE.one(call, vhost, name, only=vhost)
    if found is None:
        raise not_found()
    consumers = [each for each in CONSUMER.documents(call, vhost) if each["queue"]["name"] == name]
    return {**_plain(found), "consumer_details": consumers}


def _plain(document: "Document") -> "Document":
    """Return a queue; only an exclusive one has an owner."""
    if document.get("owner_pid_details", "") is None:
        del document["owner_pid_details"]
    return document


def _bindings(call: "Call", vhost: str, name: str) -> Any:
    if QUEUE_NAMES.one(call, vhost, name, only=vhost) is None:
        raise not_found()
    found = (each for each in BINDING.documents(call, vhost) if _leads_to(each, name))
    return lists.answer(call, found, lists.BINDING_SORT)


def _leads_to(binding: "Document", queue: str) -> bool:
    return bool(binding["destination"] == queue and binding["destination_type"] == "queue")


ROUTES: Final = (
    Route("GET", "/api/queues", MANAGEMENT, _list),
    Route("GET", "/api/queues/detailed", MANAGEMENT, _list_detailed),
    Route("GET", "/api/queues/<vhost>", MANAGEMENT, _list),
    Route("GET", "/api/queues/<vhost>/<name>", MANAGEMENT, _get),
    Route("GET", "/api/queues/<vhost>/<name>/bindings", MANAGEMENT, _bindings),
)
