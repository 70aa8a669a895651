"""Super streams, and clients of the stream protocol; of those without the tag monitoring their own."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http import fields, lists
from pybroker.http.errors import HttpError, bad_request, not_found
from pybroker.http.route import DONE, Reply, Route
from pybroker.http.shapes import CONNECTION, CONNECTION_NAMES, QUEUE_NAMES, STREAM_CONSUMER, STREAM_PUBLISHER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pybroker.http.call import Call
    from pybroker.http.lists import Document
    from pybroker.http.shapes import Shape

PROTOCOL: Final = "stream"
NO_FIGURES: Final = "Stats in management UI are disabled on this node"
# Members of the answer, by the types of what a stream tracks.
TRACKED: Final = {"offset": "offsets", "writer": "writers"}
PUBLISHER_SORT: Final = ("queue.vhost", "queue.name", "connection_details.name", "publisher_id")
CONSUMER_SORT: Final = (*PUBLISHER_SORT[:-1], "subscription_id")
MADE: Final = Reply(201)
# Arguments of each stream, as options of add_super_stream; clients of the stream protocol name them without `x-`.
NUMBERS: Final = {
    "max-length-bytes": "max_length_bytes",
    "stream-max-segment-size-bytes": "segment_size",
    "initial-cluster-size": "cluster_size",
}
TEXTS: Final = {"max-age": "max_age", "queue-leader-locator": "leader_locator"}


def _put_super_stream(call: "Call", vhost: str, name: str) -> Reply:
    given = call.fields()
    call.change("add_super_stream", super_stream=name, vhost=vhost, **_partitions(given), **_options(given))
    return MADE


def _partitions(given: "Mapping[str, Any]") -> "dict[str, Any]":
    """Return which partitions are wanted, as options. Raises HttpError."""
    if ("partitions" in given) == ("binding-keys" in given):
        both = "Specify partitions or binding keys, not both"
        raise bad_request(both if "partitions" in given else "Must specify partitions or binding keys")
    if "binding-keys" in given:
        return {"binding_keys": fields.text(given["binding-keys"], "binding-keys")}
    return {"partitions": fields.integer(given["partitions"])}


def _options(given: "Mapping[str, Any]") -> "dict[str, Any]":
    """Return the arguments as options. Raises HttpError."""
    options: dict[str, Any] = {}
    for name, value in fields.arguments(given).items():
        plain = name.removeprefix("x-")
        if plain in NUMBERS:
            options[NUMBERS[plain]] = fields.integer(value)
        elif plain in TEXTS:
            options[TEXTS[plain]] = fields.text(value, name)
        elif (plain, value) != ("queue-type", "stream"):
            raise bad_request(f"a super stream has no argument {name}")
    return options


# -- clients ----------------------------------------------------------------------------------------------------------


def _connections(call: "Call", vhost: str | None = None) -> Any:
    shape = CONNECTION_NAMES if call.flag("disable_stats") else CONNECTION
    found = [each for each in shape.documents(call, vhost) if each["protocol"] == PROTOCOL]
    if shape is CONNECTION_NAMES:
        found = [{name: value for name, value in each.items() if name != "protocol"} for each in found]
    return lists.answer(call, found)


def _connection(call: "Call", vhost: str, name: str) -> "Document":
    found = CONNECTION.one(call, name, only=vhost)
    if found is None or found["protocol"] != PROTOCOL:
        raise not_found()
    return {"name": name} if call.flag("disable_stats") else found


def _close(call: "Call", vhost: str, name: str) -> Reply:
    _connection(call, vhost, name)
    call.ask("close_clients", name=name, reason=call.reason)
    return DONE


def _publishers_of(call: "Call", vhost: str, name: str) -> Any:
    _connection(call, vhost, name)
    return _clients(call, STREAM_PUBLISHER, PUBLISHER_SORT, vhost, [("connection", vhost, name)])


def _consumers_of(call: "Call", vhost: str, name: str) -> Any:
    _connection(call, vhost, name)
    return _clients(call, STREAM_CONSUMER, CONSUMER_SORT, vhost, [("connection", vhost, name)])


def _publishers(call: "Call", vhost: str | None = None) -> Any:
    _check_figures(call)
    return _clients(call, STREAM_PUBLISHER, PUBLISHER_SORT, vhost)


def _publishers_to(call: "Call", vhost: str, stream: str) -> Any:
    _check_stream(call, vhost, stream)
    return _clients(call, STREAM_PUBLISHER, PUBLISHER_SORT, vhost, [("stream", vhost, stream)])


def _consumers(call: "Call", vhost: str | None = None) -> Any:
    _check_figures(call)
    return _clients(call, STREAM_CONSUMER, CONSUMER_SORT, vhost)


def _tracking(call: "Call", vhost: str, stream: str) -> "Document":
    if _check_stream(call, vhost, stream)["type"] != "stream":
        raise HttpError(503, "service_unavailable", "The stream leader is not available")
    found: Document = {"offsets": {}, "writers": {}}
    for each in call.records("list_stream_tracking", stream=stream, vhost=vhost):
        found[TRACKED[each["type"]]][each["name"]] = each["value"]
    only = TRACKED.get(call.query.get("type", ""))
    return found if only is None else {only: found[only]}


def _clients(
    call: "Call", shape: "Shape", sort: tuple[str, ...], vhost: str | None, keys: "Sequence[tuple[str, ...]]" = ()
) -> Any:
    return lists.answer(call, shape.documents(call, vhost, keys), sort)


def _check_figures(call: "Call") -> None:
    """Refuse to tell what is nothing but figures without figures. Raises HttpError."""
    if call.flag("disable_stats"):
        raise bad_request(NO_FIGURES)


def _check_stream(call: "Call", vhost: str, name: str) -> "Document":
    """Return a queue of this name, stream or not. Raises HttpError."""
    found = QUEUE_NAMES.one(call, vhost, name, only=vhost)
    if found is None:
        raise not_found()
    _check_figures(call)
    return found


_CONNECTION: Final = "/api/stream/connections/<vhost>/<name>"
ROUTES: Final = (
    Route("GET", "/api/stream/connections", MANAGEMENT, _connections),
    Route("GET", "/api/stream/connections/<vhost>", MANAGEMENT, _connections),
    Route("GET", _CONNECTION, MANAGEMENT, _connection),
    Route("DELETE", _CONNECTION, MANAGEMENT, _close),
    Route("GET", f"{_CONNECTION}/publishers", MANAGEMENT, _publishers_of),
    Route("GET", f"{_CONNECTION}/consumers", MANAGEMENT, _consumers_of),
    Route("GET", "/api/stream/publishers", MANAGEMENT, _publishers),
    Route("GET", "/api/stream/publishers/<vhost>", MANAGEMENT, _publishers),
    Route("GET", "/api/stream/publishers/<vhost>/<stream>", MANAGEMENT, _publishers_to),
    Route("GET", "/api/stream/consumers", MANAGEMENT, _consumers),
    Route("GET", "/api/stream/consumers/<vhost>", MANAGEMENT, _consumers),
    Route("GET", "/api/stream/<vhost>/<stream>/tracking", MANAGEMENT, _tracking),
    Route("PUT", "/api/stream/super-streams/<vhost>/<name>", MANAGEMENT, _put_super_stream),
)
