"""The headers exchange: binding arguments against the message's headers (AMQP §3.1.3.4, [rmq headers -with-x]).

Bindings are indexed by header and value, so that a message looks at those alone that a header of its own speaks for:
one for which any suffices is found by each of its conditions, one that wants all of them by the rarest.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.reply_text import field_type, printed
from pybroker.core.routing.exchange import Destinations, Exchange, count_down, count_up
from pybroker.errors import PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.routing.binding import Binding, BindingKey, Target
    from pybroker.wire.table import Table

_MISSING: Final = object()
# In place of a value: that the header is there suffices.
PRESENT: Final = object()

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

    def __init__(self, arguments: Mapping[str, Any], destination: "Target") -> None:
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


def token(value: Any) -> Any:
    """Return something hashable that is equal for values that are the `same`; itself for those of most headers."""
    kind = type(value)
    if kind is str or kind is int:
        return value
    if kind is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return (kind, value) if kind in _HASHABLE else kind


_HASHABLE: Final = frozenset({bool, float, Decimal, datetime})
# Of these equal tokens mean equal values.
_EXACT: Final = frozenset({str, int, bytes, bool})


class Place:
    """One condition: the destinations that it suffices for, and the patterns that have others beside it."""

    __slots__ = ("destinations", "patterns")

    def __init__(self) -> None:
        self.destinations: Destinations = {}
        self.patterns: dict[Pattern, None] = {}

    def __len__(self) -> int:
        return len(self.destinations) + len(self.patterns)

    def add(self, pattern: Pattern, *, suffices: bool) -> None:
        """Take one more pattern."""
        if suffices:
            count_up(self.destinations, pattern.destination)
        else:
            self.patterns[pattern] = None

    def remove(self, pattern: Pattern) -> None:
        """Let a pattern go."""
        if pattern in self.patterns:
            del self.patterns[pattern]
        else:
            count_down(self.destinations, pattern.destination)

    def match(self, headers: Mapping[str, Any], out: Destinations) -> None:
        """Add the destinations of a message of which this condition holds."""
        if self.destinations:
            out.update(self.destinations)
        for pattern in self.patterns:
            if pattern.destination not in out and pattern.matches(headers):
                out[pattern.destination] = 1


class HeadersExchange(Exchange):
    """`_places` has for each header the places of its values, and under PRESENT that of its presence."""

    TYPE: ClassVar[str] = "headers"
    NEEDS_HEADERS: ClassVar[bool] = True

    __slots__ = ("_patterns", "_places", "_unconditional")

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
        if self._unconditional:
            out.update(self._unconditional)
        if not headers:
            return
        places = self._places
        for name in headers if len(headers) <= len(places) else places:
            values = places.get(name)
            if values is None or name not in headers:
                continue
            place = values.get(token(headers[name]))
            if place is not None:
                place.match(headers, out)
            place = values.get(PRESENT)
            if place is not None:
                place.match(headers, out)

    def _open_index(self) -> None:
        # Of each binding its pattern, and where that stands.
        self._patterns: dict[BindingKey, tuple[Pattern, list[tuple[str, Any]]]] = {}
        self._places: dict[str, dict[Any, Place]] = {}
        self._unconditional: Destinations = {}

    def _attach(self, binding: "Binding") -> None:
        pattern = Pattern(binding.arguments, binding.destination)
        conditions = [(key, PRESENT) for key in pattern.present]
        conditions += [(key, token(value)) for key, value in pattern.fields]
        exact = all(type(value) in _EXACT for _, value in pattern.fields)
        if not conditions and not pattern.any_suffices:
            count_up(self._unconditional, binding.destination)
        if len(conditions) > 1 and not pattern.any_suffices:
            conditions = [min(conditions, key=self._occupancy)]
            exact = False
        for name, value in conditions:
            values = self._places.setdefault(name, {})
            values.setdefault(value, Place()).add(pattern, suffices=exact)
        self._patterns[binding.key] = (pattern, conditions)

    def _detach(self, binding: "Binding") -> None:
        pattern, conditions = self._patterns.pop(binding.key)
        if not conditions and not pattern.any_suffices:
            count_down(self._unconditional, binding.destination)
        for name, value in conditions:
            values = self._places[name]
            place = values[value]
            place.remove(pattern)
            if not place:
                del values[value]
                if not values:
                    del self._places[name]

    def _occupancy(self, condition: tuple[str, Any]) -> int:
        name, value = condition
        values = self._places.get(name)
        place = None if values is None else values.get(value)
        return 0 if place is None else len(place)
