"""Bindings, of all virtual hosts, of one, and between two ends."""

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pybroker.control.access import MANAGEMENT
from pybroker.http import fields, lists
from pybroker.http.errors import not_found
from pybroker.http.route import DONE, Reply, Route
from pybroker.http.routes.exchanges import exchange_name
from pybroker.http.shapes import BINDING
from pybroker.text.properties_key import is_same

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.http.call import Call
    from pybroker.http.lists import Document

KINDS: Final = {"q": "queue", "e": "exchange"}


def _list(call: "Call", vhost: str | None = None) -> Any:
    return lists.answer(call, BINDING.documents(call, vhost), lists.BINDING_SORT)


def _between(call: "Call", vhost: str, source: str, kind: str, destination: str) -> "Iterator[Document]":
    """Return the bindings from an exchange to a queue (`q`) or an exchange (`e`). Raises HttpError."""
    return BINDING.documents(call, vhost, [("between", vhost, *_ends(source, kind, destination))])


def _ends(source: str, kind: str, destination: str) -> tuple[str, str, str]:
    """Return source, kind and name of the destination, from the parts of a path. Raises HttpError."""
    if kind not in KINDS:
        raise not_found()
    return exchange_name(source), KINDS[kind], destination if kind == "q" else exchange_name(destination)


def _bind(call: "Call", vhost: str, source: str, kind: str, destination: str) -> Reply:
    given = call.fields()
    ends = dict(zip(("source", "kind", "destination"), _ends(source, kind, destination), strict=True))
    what = {"routing_key": fields.word(given.get("routing_key", "")), "arguments": fields.arguments(given)}
    key = call.change("bind", vhost=vhost, **ends, **what)["properties_key"]
    return Reply(201, None, {"Location": f"{quote(destination, safe='')}/{quote(key, safe='')}"})


def _unbind(call: "Call", vhost: str, source: str, kind: str, destination: str, key: str) -> Reply:
    ends = dict(zip(("source", "kind", "destination"), _ends(source, kind, destination), strict=True))
    call.ask("unbind", vhost=vhost, **ends, key=key)
    return DONE


def _list_between(call: "Call", vhost: str, source: str, kind: str, destination: str) -> Any:
    return lists.answer(call, _between(call, vhost, source, kind, destination), lists.BINDING_SORT)


def _get(call: "Call", vhost: str, source: str, kind: str, destination: str, key: str) -> "Document":
    for each in _between(call, vhost, source, kind, destination):
        if is_same(each["properties_key"], key):
            return each
    raise not_found()


_BETWEEN: Final = "/api/bindings/<vhost>/e/<source>/<kind>/<destination>"
ROUTES: Final = (
    Route("GET", "/api/bindings", MANAGEMENT, _list),
    Route("GET", "/api/bindings/<vhost>", MANAGEMENT, _list),
    Route("GET", _BETWEEN, MANAGEMENT, _list_between),
    Route("POST", _BETWEEN, MANAGEMENT, _bind),
    Route("GET", f"{_BETWEEN}/<key>", MANAGEMENT, _get),
    Route("DELETE", f"{_BETWEEN}/<key>", MANAGEMENT, _unbind),
)
