"""The headers exchange: binding arguments against the message's headers (AMQP §3.1.3.4, [rmq headers -with-x])."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.exchange.exchange import Destinations, Exchange
from pybroker.core.terms import field_type, printed
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.binding import Binding, BindingKey, Destination
    from pybroker.wire.table import Table

NO_HEADERS: Final[Mapping[str, Any]] = {}
_MISSING: Final = object()

# x-match value -> (any one suffices, keys that begin with x- count too)
X_MATCH: Final = {
    "all": (False, False),
    "any": (True, False),
    "all-with-x": (False, True),
    "any-with-x": (True, True),
}


class Pattern:
    """One binding's arguments, made ready: `fields` are (key, value) to be equal, `present` keys must only be there."""

    __slots__ = ("any_suffices", "destination", "fields", "present")

    def __init__(self, arguments: Mapping[str, Any], destination: "Destination") -> None:
        self.destination = destination
        self.any_suffices, with_x = X_MATCH[arguments.get("x-match", "all")]
        keys = [key for key in arguments if key != "x-match" and (with_x or not key.startswith("x-"))]
        # A value of type void asks for presence only.
        self.present = tuple(key for key in keys if arguments[key] is None)
        self.fields = tuple((key, arguments[key]) for key in keys if arguments[key] is not None)

    def matches(self, headers: Mapping[str, Any]) -> bool:
        """Tell whether a message with these headers goes to the destination."""
        if self.any_suffices:
            return any(key in headers for key in self.present) or any(
                same(headers.get(key, _MISSING), value) for key, value in self.fields
            )
        for key in self.present:
            if key not in headers:
                return False
        for key, value in self.fields:  # noqa: SIM110 - a generator would double the cost of a match
            if not same(headers.get(key, _MISSING), value):
                return False
        return True


def same(left: Any, right: Any) -> bool:
    """Tell whether two field values are equal as in RabbitMQ 3.13: True is not 1, 1 is not 1.0, text is its octets."""
    if type(left) is type(right):
        return bool(left == right)
    if isinstance(left, str) and isinstance(right, bytes):
        return left.encode() == right
    if isinstance(left, bytes) and isinstance(right, str):
        return left == right.encode()
    return False


class HeadersExchange(Exchange):
    """One pattern a binding, tried in turn; routing keys match nothing."""

    TYPE: ClassVar[str] = "headers"
    NEEDS_HEADERS: ClassVar[bool] = True

    __slots__ = ("_patterns",)

    def validate_binding(self, routing_key: str, arguments: "Table") -> None:  # noqa: ARG002 - as the base
        """Refuse a bad `x-match`. Raises PreconditionFailed (406)."""
        if "x-match" not in arguments:
            return
        value = arguments["x-match"]
        kind = field_type(arguments, "x-match")
        if kind != "longstr":
            text = f"Invalid x-match field type {kind} (value {printed(value)}); expected longstr"
            raise PreconditionFailed(text)
        if not isinstance(value, str) or value not in X_MATCH:
            text = f"Invalid x-match field value {printed(value)}; expected all, any, all-with-x, or any-with-x"
            raise PreconditionFailed(text)

    def match(
        self,
        routing_key: str,  # noqa: ARG002 - one signature for all types
        headers: Mapping[str, Any] | None,
        out: Destinations,
    ) -> None:
        """Add the destinations whose pattern these headers match; without headers, none of them is present."""
        if headers is None:
            headers = NO_HEADERS
        for pattern in self._patterns.values():
            if pattern.matches(headers):
                out[pattern.destination] = 1

    def _open_index(self) -> None:
        self._patterns: dict[BindingKey, Pattern] = {}

    def _attach(self, binding: "Binding") -> None:
        self._patterns[binding.key] = Pattern(binding.arguments, binding.destination)

    def _detach(self, binding: "Binding") -> None:
        del self._patterns[binding.key]
