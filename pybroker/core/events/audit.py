"""Lines of the audit log: one JSON object an event, saying who did what from where, and why.

Only facts that `SHOWN` names get out: no password, no hash, no value of a parameter can. Texts of a peer are capped and
escaped. The daemon decides where the lines go.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Any, Final, NamedTuple

from pybroker.core.events.cause import Cause

OCTETS_MAX: Final = 256
_encode: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_encode_any: Final = json.JSONEncoder(ensure_ascii=True, default=str).encode
_CUT: Final = "..."
_PLAIN: Final = frozenset({bool, int, float, type(None)})
_QUEUE: Final = ("durable", "exclusive", "auto_delete", "arguments", "messages")
_CONSUMER: Final = ("queue", "connection_name", "why")
_EXCHANGE: Final = ("type", "durable", "auto_delete", "internal", "arguments")
_BINDING: Final = ("source_name", "destination_kind", "routing_key", "arguments")
_POLICY: Final = ("pattern", "apply-to", "priority", "definition")
_TLS: Final = ("ssl_protocol", "peer_cert_subject", "peer_cert_issuer")
_LIMITS: Final = ("max-connections", "max-channels", "max-queues")

# The events that are logged, and which of their facts; channels and consumers come and go too often to tell anything.
SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "node.started": ("version",),
    "node.stopped": (),
    "config.reloaded": ("changed",),
    "config.refused": ("error",),
    "command": ("arguments", "exit", "error", "uid", "gid", "pid"),
    "queue.created": _QUEUE,
    "queue.deleted": _QUEUE,
    "queue.purged": _QUEUE,
    "queue.moved": ("target", "messages"),
    "queue.paused": ("paused", "mode", "why", "replaced_why", "replaced_user"),
    "queue.resumed": ("paused", "mode", "why"),
    "consumer.paused": _CONSUMER,
    "consumer.resumed": _CONSUMER,
    "exchange.created": _EXCHANGE,
    "exchange.deleted": (),
    "binding.created": _BINDING,
    "binding.deleted": _BINDING,
    "connection.created": ("user_provided_name", "auth_mechanism", *_TLS),
    "connection.closed": ("user_provided_name",),
    "user.authentication.failure": ("auth_mechanism", "count", *_TLS),
    "user.created": (),
    "user.deleted": (),
    "user.password.changed": (),
    "user.password.cleared": (),
    "user.tags.set": ("tags",),
    "user.limits.set": _LIMITS,
    "user.limits.cleared": (),
    "permission.created": ("configure", "write", "read"),
    "permission.deleted": (),
    "topic.permission.created": ("exchange", "write", "read"),
    "topic.permission.deleted": ("exchange",),
    "vhost.created": ("description", "tags", "default_queue_type"),
    "vhost.updated": ("description", "tags", "default_queue_type"),
    "vhost.tags.set": ("tags",),
    "vhost.deleted": (),
    "parameter.set": ("component",),
    "parameter.cleared": ("component",),
    "policy.set": _POLICY,
    "policy.cleared": (),
    "operator.policy.cleared": (),
    "vhost.limits.set": _LIMITS,
    "vhost.limits.cleared": (),
    "alarm.set": ("node",),
    "alarm.cleared": ("node",),
}
# Which fact is the name of what an event is about; of others it is `name`.
_NAMED: Final = {
    "binding": "destination_name",
    "permission": "user",
    "topic": "user",
    "alarm": "source",
    "consumer": "consumer_tag",
}


class Entry(NamedTuple):
    """One event, as it happened."""

    timestamp_ms: int
    event: str
    facts: Mapping[str, Any]
    cause: Cause | None
    more: Mapping[str, Any]


def is_logged(event: str, facts: Mapping[str, Any]) -> bool:
    """Tell whether an event is one of the log's; the exchanges that every virtual host has are not."""
    return event in SHOWN and not (event.startswith("exchange.") and facts["name"][:4] in {"", "amq."})


def line(entry: Entry) -> str:
    """Return an entry as a line, its end included."""
    return _encode(document(entry)) + "\n"


def document(entry: Entry) -> dict[str, Any]:
    """Return an entry of a logged event as the log has it."""
    event, cause = entry.event, entry.cause
    facts = {**entry.facts, **entry.more}
    connection = cause.connection if cause is not None else facts.get("connection_name", "")
    user = cause.user if cause is not None else facts.get("user", "")
    why = cause.why if cause is not None else facts.get("reason", facts.get("error", ""))
    name = facts.get(_NAMED.get(event.partition(".")[0], "name"), "")
    if event.startswith("connection."):
        connection = name
    elif event.startswith("user.limits."):
        name = facts["username"]
    return {
        "time": stamp(entry.timestamp_ms),
        "event": event,
        "vhost": capped(facts.get("vhost", "")),
        "name": capped(name),
        "user": capped(user),
        "connection": capped(connection),
        "peer": capped(connection.partition(" -> ")[0]),
        "cause": capped(why),
        "facts": {key: shown(facts[key]) for key in SHOWN[event] if key in facts},
    }


def stamp(timestamp_ms: int) -> str:
    """Return a time as it stands in the log: UTC, to the millisecond."""
    second, ms = divmod(timestamp_ms, 1_000)
    return f"{_second(second)}.{ms:03}+00:00"


@lru_cache(maxsize=8)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def capped(text: object) -> str:
    """Return a text of OCTETS_MAX octets at most."""
    text = str(text)
    if len(text) <= OCTETS_MAX and text.isascii():
        return text
    octets = text.encode(errors="backslashreplace")
    if len(octets) > OCTETS_MAX:
        octets = octets[: OCTETS_MAX - len(_CUT)]
        return octets.decode(errors="ignore") + _CUT
    return octets.decode()


def shown(value: Any) -> Any:
    """Return a fact as it is if it is short, else the beginning of its JSON."""
    kind = type(value)
    if kind is str:
        return capped(value)
    if kind is float and not isfinite(value):
        return str(value)
    if kind in _PLAIN or (kind is dict and not value):
        return value
    text = _encode_any(value)
    # JSON has no NaN and no Infinity.
    return json.loads(text, parse_constant=str) if len(text) <= OCTETS_MAX else capped(text)
