"""Queues."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http import fields, lists, messages
from pybroker.http.errors import HttpError, bad_request, not_authorised, not_found
from pybroker.http.node import Refused
from pybroker.http.route import DONE, Reply, Route, written
from pybroker.http.shapes import BINDING, CONSUMER, QUEUE, QUEUE_BASICS, QUEUE_NAMES, QUEUE_TOTALS, of_type

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document
    from pybroker.http.shapes import Shape

# Reply codes of AMQP.
ACCESS_REFUSED: Final = 403
NOT_IMPLEMENTED: Final = 540
GET_MAX: Final = 10_000
# Ways to settle messages that are got, as options of get_messages.
ACK_MODES: Final = {
    "ack_requeue_true": {},
    "reject_requeue_true": {},
    "ack_requeue_false": {"ack": True},
    "reject_requeue_false": {"reject": True},
}
ENCODINGS: Final = ("auto", "base64")
# Of mirrored queues: nothing is to be done for a queue without mirrors.
ACTIONS: Final = ("sync", "cancel_sync")


def _shape(call: "Call") -> "Shape":
    """Return what of each queue is asked for."""
    if call.flag("disable_stats"):
        return QUEUE_TOTALS if call.flag("enable_queue_totals") else QUEUE_NAMES
    return QUEUE if "columns" in call.query else QUEUE_BASICS


def _list(call: "Call", vhost: str | None = None) -> Any:
    return lists.answer_of(call, _shape(call), vhost, _plain)


def _list_detailed(call: "Call") -> Any:
    return lists.answer_of(call, QUEUE, None, _plain)


def _get(call: "Call", vhost: str, name: str) -> "Document":
    found = QUEUE.one(call, vhost, name, only=vhost)
    if found is None:
        raise not_found()
    consumers = list(map(of_type, CONSUMER.documents(call, vhost, [("queue", vhost, name)])))
    return {**_plain(found), "consumer_details": consumers, "incoming": [], "deliveries": []}


def _plain(document: "Document") -> "Document":
    """Return a queue; only an exclusive one has an owner, and only an idle one a time since when it is so.

    A stream has members of its own.
    """
    if document.get("owner_pid_details", "") is None:
        del document["owner_pid_details"]
    if "idle_since" in document:
        since_ms = document["idle_since"]
        if since_ms is None:
            del document["idle_since"]
        else:
            since = datetime.fromtimestamp(since_ms / 1000, UTC)
            document["idle_since"] = since.isoformat(timespec="milliseconds")
    return of_type(document)


def _bindings(call: "Call", vhost: str, name: str) -> Any:
    """Answer with the bindings to a queue; one that is not there has none, as in RabbitMQ."""
    return lists.answer(call, BINDING.documents(call, vhost, [("to", vhost, "queue", name)]), lists.BINDING_SORT)


def _put(call: "Call", vhost: str, name: str) -> Reply:
    given = call.fields()
    # Differs from RabbitMQ: it makes an ordinary queue of one that is to be exclusive.
    if fields.flag(given, "exclusive"):
        raise bad_request("an exclusive queue belongs to a connection: it cannot be declared over HTTP")
    options: dict[str, Any] = {each: fields.flag(given, each) for each in ("durable", "auto_delete", "passive")}
    if "node" in given:
        options["node"] = fields.text(given["node"], "node")
    return written(call.change("declare_queue", name=name, vhost=vhost, arguments=fields.arguments(given), **options))


def _delete(call: "Call", vhost: str, name: str) -> Reply:
    conditions = {"if_empty": call.flag("if-empty"), "if_unused": call.flag("if-unused")}
    call.ask("delete_queue", queue_name=name, vhost=vhost, **conditions)
    return DONE


def _purge(call: "Call", vhost: str, name: str) -> Reply:
    call.ask("purge_queue", queue=name, vhost=vhost)
    return DONE


def _get_messages(call: "Call", vhost: str, name: str) -> list[Any]:
    given = call.fields()
    mode, count, encoding = fields.required(given, "ackmode", "count", "encoding")
    count = min(fields.integer(count), GET_MAX)
    if not isinstance(mode, str) or mode not in ACK_MODES:
        raise bad_request(f"Unsupported ackmode. Please use one of {', '.join(ACK_MODES)}.")
    if encoding not in ENCODINGS:
        raise bad_request("Unsupported encoding. Please use auto or base64.")
    octets_max = fields.integer(given["truncate"]) if "truncate" in given else None
    if count < 1:
        return []
    try:
        documents, left = _taken(call, ACK_MODES[mode], queue=name, vhost=vhost, number=count)
    except Refused as refused:
        raise _of_channel(refused, vhost, name) from None
    found = list(messages.joined(iter(documents)))
    left += 0 if ACK_MODES[mode] else -len(found)
    how: dict[str, Any] = {"as_text": encoding == "auto", "octets_max": octets_max}
    return [
        messages.shown(document, body, max(0, left + len(found) - number), **how)
        for number, (document, body) in enumerate(found, 1)
    ]


def _taken(call: "Call", mode: dict[str, bool], **options: Any) -> "tuple[list[Document], int]":
    """Return messages, as documents of the node, and how many are ready now. Raises Refused, HttpError."""
    documents: list[Document] = []
    left = 0
    for line in call.answer("get_messages", format="raw", **mode, **options):
        if isinstance(line, list):
            documents += line
        elif "facts" in line:
            left = line["facts"]["messages_ready"]
    return documents, left


def _of_channel(refused: Refused, vhost: str, name: str) -> Exception:
    """Return a refusal in the words of a channel that ends by it."""
    if refused.facts.get("missing") == "queue":
        return HttpError(404, "not_found", f"NOT_FOUND - no queue '{name}' in vhost '{vhost}'")
    if refused.facts.get("reply_code") == ACCESS_REFUSED:
        return not_authorised(f"ACCESS_REFUSED - {refused.facts['reply_text']}")
    if refused.facts.get("reply_code") == NOT_IMPLEMENTED:
        return bad_request(f"{NOT_IMPLEMENTED} {refused.facts['reply_text']}")
    return refused


def _act(call: "Call", vhost: str, name: str) -> Reply:
    (action,) = fields.required(call.fields(), "action")
    if action not in ACTIONS:
        raise bad_request(["unknown", action])
    if QUEUE_NAMES.one(call, vhost, name, only=vhost) is None:
        raise not_found()
    return DONE


ROUTES: Final = (
    Route("GET", "/api/queues", MANAGEMENT, _list),
    Route("GET", "/api/queues/detailed", MANAGEMENT, _list_detailed),
    Route("GET", "/api/queues/<vhost>", MANAGEMENT, _list),
    Route("GET", "/api/queues/<vhost>/<name>", MANAGEMENT, _get),
    Route("PUT", "/api/queues/<vhost>/<name>", MANAGEMENT, _put),
    Route("DELETE", "/api/queues/<vhost>/<name>", MANAGEMENT, _delete),
    Route("GET", "/api/queues/<vhost>/<name>/bindings", MANAGEMENT, _bindings),
    Route("DELETE", "/api/queues/<vhost>/<name>/contents", MANAGEMENT, _purge),
    Route("POST", "/api/queues/<vhost>/<name>/get", MANAGEMENT, _get_messages),
    Route("POST", "/api/queues/<vhost>/<name>/actions", MANAGEMENT, _act),
)
