"""Order: in which order a request wants a list, and indexes: the keys of its objects in that order.

A page has a hundred objects, but all have to be known to put them in order. So that those who look every few seconds,
or turn page after page, do not have the node tell about all of them each time, the index of a long list is kept for a
while; what is shown of each object is read anew. Which virtual hosts a user may see is asked each time.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

    from pybroker.http.call import Call
    from pybroker.http.lists import Condition, Document
    from pybroker.http.shapes import Shape

# The index of a list with more objects is kept for so long.
LONG: Final = 2_000
KEPT_MS: Final = 5_000
# Of all indexes that are kept; each takes some 200 octets.
KEYS_MAX: Final = 250_000

Key: TypeAlias = tuple[str, ...]


class Order(NamedTuple):
    """By these members, the first one first; dots lead into objects. By none: as they come."""

    members: tuple[str, ...]
    is_reversed: bool = False


def order_of(query: "MultiDict[str, str]", default: Sequence[str]) -> Order:
    """Return the order that is asked for; `sort=` asks for none."""
    wanted = query.get("sort")
    members = tuple(default) if wanted is None else (wanted,) if wanted else ()
    return Order(members, query.get("sort_reverse") == "true")


def chosen(documents: "list[Document]", conditions: "Iterable[Condition]") -> "list[Document]":
    """Return the documents for which all conditions hold."""
    for condition in conditions:
        documents = [each for each in documents if condition.holds(each)]
    return documents


def arranged(documents: "Iterable[Document]", order: Order) -> "list[Document]":
    """Return documents in an order."""
    found = list(documents)
    if not order.members:
        return found
    columns = [_ranks(found, member) for member in order.members]
    ranks = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return [found[at] for at in sorted(range(len(found)), key=ranks.__getitem__, reverse=order.is_reversed)]


def _ranks(documents: "list[Document]", member: str) -> list[Any]:
    """Return what orders documents by a member."""
    values = [value_of(each, member) for each in documents]
    # As nearly always: these order themselves.
    return values if {*map(type, values)} in ({str}, {int}, {float}, {int, float}) else list(map(_rank, values))


def _rank(value: Any) -> tuple[int, Any]:
    """Return a key that orders values of all kinds: numbers, then words without quotes, lists, objects, text."""
    match value:
        case bool() | None:
            return 1, str(value)
        case int() | float():
            return 0, value
        case str():
            return 4, value
        case list():
            return 3, [_rank(one) for one in value]
    return 2, len(value)


def value_of(document: Any, member: str) -> Any:
    """Return the value of a member; a missing one counts as 0."""
    for word in member.split("."):
        if not isinstance(document, dict) or word not in document:
            return 0
        document = document[word]
    return document


class Index(NamedTuple):
    """Keys in order, of how many objects they were chosen, and when that was (ms since 1970)."""

    keys: list[Key]
    total: int
    read_ms: int


class Indexes:
    """The indexes of long lists that were asked for last, by virtual hosts, kind of object, order and conditions."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self.now_ms = now_ms
        self._kept: OrderedDict[tuple[object, ...], Index] = OrderedDict()

    def find(
        self, call: "Call", shape: "Shape", only: str | None, order: Order, conditions: "tuple[Condition, ...]"
    ) -> Index:
        """Return the index of all that the user sees of a shape, or in one virtual host. Raises as Shape.documents."""
        what = call.vhost_names(only), shape.kind, order, conditions
        kept, now_ms = self._kept.get(what), self.now_ms()
        if kept is not None and 0 <= now_ms - kept.read_ms < KEPT_MS:
            return kept
        found = list(shape.documents(call, only))
        documents = arranged(chosen(found, conditions), order)
        index = Index([tuple([each[part] for part in shape.key]) for each in documents], len(found), now_ms)
        self._kept.pop(what, None)
        if index.total > LONG:
            self._kept[what] = index
            while sum([len(each.keys) for each in self._kept.values()]) > KEYS_MAX:
                self._kept.popitem(last=False)
        return index

    def clear(self) -> None:
        """Forget them: those who change something want to see it."""
        self._kept.clear()
