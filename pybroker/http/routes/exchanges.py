"""Exchanges. In a path `amq.default` is the one without a name."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http import fields, lists, messages
from pybroker.http.errors import bad_request, not_found
from pybroker.http.node import Refused
from pybroker.http.route import DONE, Reply, Route, written
from pybroker.http.shapes import BINDING, EXCHANGE

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document

DEFAULT: Final = "amq.default"


def exchange_name(word: str) -> str:
    """Return the name of an exchange that is a part of a path."""
    return "" if word == DEFAULT else word


def _list(call: "Call", vhost: str | None = None) -> Any:
    return lists.answer_of(call, EXCHANGE, vhost)


def _get(call: "Call", vhost: str, name: str) -> "Document":
    found = EXCHANGE.one(call, vhost, exchange_name(name), only=vhost)
    if found is None:
        raise not_found()
    # Figures by queue or channel are not counted, as in RabbitMQ unless it is told to.
    return {**found, "incoming": [], "outgoing": []}


def _bindings_from(call: "Call", vhost: str, name: str) -> Any:
    """Answer with the bindings from an exchange; one that is not there has none, as in RabbitMQ."""
    key = ("from", vhost, exchange_name(name))
    return lists.answer(call, BINDING.documents(call, vhost, [key]), lists.BINDING_SORT)


def _bindings_to(call: "Call", vhost: str, name: str) -> Any:
    key = ("to", vhost, "exchange", exchange_name(name))
    return lists.answer(call, BINDING.documents(call, vhost, [key]), lists.BINDING_SORT)


def _put(call: "Call", vhost: str, name: str) -> Reply:
    given = call.fields()
    flags = {each: fields.flag(given, each) for each in ("durable", "auto_delete", "internal", "passive")}
    options = {**flags, "type": fields.word(given.get("type", "direct")), "arguments": fields.arguments(given)}
    return written(call.change("declare_exchange", name=exchange_name(name), vhost=vhost, **options))


def _delete(call: "Call", vhost: str, name: str) -> Reply:
    call.ask("delete_exchange", name=exchange_name(name), vhost=vhost, if_unused=call.flag("if-unused"))
    return DONE


def _publish(call: "Call", vhost: str, name: str) -> "Document":
    names = ("routing_key", "properties", "payload", "payload_encoding")
    routing_key, properties, payload, encoding = fields.required(call.fields(), *names)
    where = {"exchange": exchange_name(name), "routing_key": fields.word(routing_key), "vhost": vhost}
    given = messages.properties_of(properties)
    lines = messages.body_lines(payload, encoding)
    try:
        answer: Document = call.change("publish_message", lines, properties=given, **where)
    except Refused as refused:
        if "reply_code" in refused.facts:
            code, word, text = (refused.facts[f"reply_{each}"] for each in ("code", "name", "text"))
            raise bad_request(f"{code} {word} - {text}") from None
        raise
    return answer


ROUTES: Final = (
    Route("GET", "/api/exchanges", MANAGEMENT, _list),
    Route("GET", "/api/exchanges/<vhost>", MANAGEMENT, _list),
    Route("GET", "/api/exchanges/<vhost>/<name>", MANAGEMENT, _get),
    Route("PUT", "/api/exchanges/<vhost>/<name>", MANAGEMENT, _put),
    Route("DELETE", "/api/exchanges/<vhost>/<name>", MANAGEMENT, _delete),
    Route("POST", "/api/exchanges/<vhost>/<name>/publish", MANAGEMENT, _publish),
    Route("GET", "/api/exchanges/<vhost>/<name>/bindings/source", MANAGEMENT, _bindings_from),
    Route("GET", "/api/exchanges/<vhost>/<name>/bindings/destination", MANAGEMENT, _bindings_to),
)
