"""Super streams."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http import fields
from pybroker.http.errors import bad_request
from pybroker.http.route import Reply, Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.http.call import Call

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


ROUTES: Final = (Route("PUT", "/api/stream/super-streams/<vhost>/<name>", MANAGEMENT, _put_super_stream),)
