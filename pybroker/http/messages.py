"""Messages over HTTP: bodies and properties as RabbitMQ's management interface has them, both ways."""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pybroker.control import codec
from pybroker.http import fields
from pybroker.http.errors import bad_request

# Octets of a body in a line to the node: in base64 a line stays below what it reads.
PART_OCTETS: Final = 524_288
NUMBERS: Final = ("delivery_mode", "priority", "timestamp")
TEXTS: Final = (
    *("content_type", "content_encoding", "correlation_id", "reply_to", "expiration", "message_id", "type", "user_id"),
    *("app_id", "cluster_id"),
)


def properties_of(given: Any) -> dict[str, Any]:
    """Return the properties of a message that is to be published, headers among them. Raises HttpError."""
    if not isinstance(given, dict):
        raise bad_request("properties is not an object")
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in NUMBERS and (not isinstance(value, int) or isinstance(value, bool)):
            raise bad_request(["not_int", name])
        if name in TEXTS and not isinstance(value, str):
            raise bad_request(["not_string", name])
        if name in NUMBERS or name in TEXTS:
            found[name] = value
    return {**found, "headers": fields.arguments(given, "headers")}


def body_lines(payload: Any, encoding: Any) -> list[bytes]:
    """Return the lines that bring a payload to the node. Raises HttpError."""
    if not isinstance(payload, str):
        raise bad_request("payload_not_string")
    match encoding:
        case "string":
            octets = payload.encode()
        case "base64":
            try:
                octets = b64decode(payload, validate=True)
            except (Error, ValueError):
                raise bad_request(["not_base64", payload]) from None
        case _:
            raise bad_request(["unsupported_encoding", encoding])
    parts = [octets[at : at + PART_OCTETS] for at in range(0, len(octets), PART_OCTETS)]
    return [*(codec.encode(b64encode(part).decode()) for part in parts), codec.encode({"end": len(parts)})]


def joined(documents: Iterator[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """Yield messages with their bodies, which come from the node in base64, long ones in parts."""
    for document, body in with_parts(documents):
        yield document, b64decode(document["body"]) if body is None else body


def with_parts(documents: Iterator[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], bytes | None]]:
    """Yield messages, and the whole bodies of those that come in parts."""
    for document in documents:
        more = [next(documents)["body_part"] for _ in range(document.get("body_parts", 0))]
        body = b"".join(map(b64decode, [document["body"], *more])) if "body_parts" in document else None
        yield document, body


def shown(document: Mapping[str, Any], body: bytes, left: int, *, as_text: bool, octets_max: int | None) -> Any:
    """Return a message as the HTTP API shows it; `left` is how many more the queue had."""
    payload, encoding = _payload(body if octets_max is None else body[: max(0, octets_max)], as_text=as_text)
    headers = document["headers"]
    properties = {**document["properties"], **({"headers": headers} if headers else {})}
    return {
        "payload_bytes": document["size"],
        "redelivered": document["redelivered"],
        "exchange": document["exchange"],
        "routing_key": document["routing_key"],
        "message_count": left,
        # An empty one is a list: clients know it so.
        "properties": properties or [],
        "payload": payload,
        "payload_encoding": encoding,
    }


def _payload(octets: bytes, *, as_text: bool) -> tuple[str, str]:
    if as_text:
        try:
            return octets.decode(), "string"
        except UnicodeDecodeError:
            pass
    return b64encode(octets).decode(), "base64"
