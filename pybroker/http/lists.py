"""Lists: filtered, cut into pages and reduced to columns, as a request asks for it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import eq, gt, lt
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import re2

from pybroker.http import streams
from pybroker.http.errors import HttpError, bad_request
from pybroker.http.order import LONG, Key, arranged, chosen, order_of, value_of
from pybroker.http.route import Reply

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

    from pybroker.http.call import Call
    from pybroker.http.shapes import Shape

Document: TypeAlias = dict[str, Any]
_T = TypeVar("_T")

PAGE_SIZE: Final = 100
PAGE_SIZE_MAX: Final = 500
# Read at a time: a key may take three thousand octets of a request to the node.
PART: Final = 200
PATTERN_MAX: Final = 1_024
INVALID: Final = "Pagination parameters are invalid"
DEFAULT_SORT: Final = ("vhost", "name")
# One comparison of `where`.
_CONDITION: Final = re.compile(r"([\w.]+)(==|<|>)(\d{1,15})", re.ASCII)
_COMPARISONS: Final = {"==": eq, "<": lt, ">": gt}
PERMISSION_SORT: Final = ("vhost", "user")
TOPIC_SORT: Final = (*PERMISSION_SORT, "exchange")
BINDING_SORT: Final = ("vhost", "source", "destination_type", "destination", "routing_key", "properties_key")


class Condition(NamedTuple):
    """A comparison with a number that a member has to pass; dots lead into objects."""

    member: str
    compare: Callable[[float, float], bool]
    number: int

    def holds(self, document: Document) -> bool:
        """Return whether a document passes; what is no number counts as 0."""
        value = value_of(document, self.member)
        return self.compare(value if isinstance(value, int | float) else 0, self.number)


class Page(NamedTuple):
    """A page that is asked for; `matches` tells names that are wanted."""

    number: int
    size: int
    matches: Callable[[str], bool] | None


def answer_of(
    call: "Call", shape: "Shape", only: str | None = None, plain: Callable[[Document], Document] | None = None
) -> Any:
    """Return a list of all objects of a shape that the user sees, or a page of them, each made `plain`.

    If the node can tell alone what they are ordered and chosen by, only those of the page are read whole, or some at a
    time. Raises HttpError, Refused.
    """
    page, columns = page_of(call.query), columns_of(call.query)
    order, conditions = order_of(call.query, DEFAULT_SORT), conditions_of(call.query)
    index_shape = shape.indexed([*order.members, *[each.member for each in conditions]])
    if index_shape is None:
        return answer(call, map(plain or _as_it_is, shape.documents(call, only)))
    part = _Part(call, shape.limited(columns) if columns else shape, only, plain or _as_it_is, columns)
    index = call.indexes.find(call, index_shape, only, order, conditions)
    headers = {"Age": str(max(0, call.indexes.now_ms() - index.read_ms) // 1_000)}
    if page is not None:
        keys, counts = _cut(index.keys, index.total, page, lambda key: key[-1])
        items = [each for some in _parts(keys) for each in part.read(some)]
        return Reply(200, {**counts, "items": items, "item_count": len(items)}, headers)
    if len(index.keys) <= LONG:
        return Reply(200, [each for some in _parts(index.keys) for each in part.read(some)], headers)
    return streams.listed(call.request, map(part.read, _parts(index.keys)), headers)


class _Part(NamedTuple):
    """Reads objects of a list by their keys."""

    call: "Call"
    shape: "Shape"
    only: str | None
    plain: Callable[[Document], Document]
    columns: list[str]

    def read(self, keys: Sequence[Key]) -> list[Document]:
        """Return the documents of those that are still there, in this order. Raises HttpError, Refused."""
        documents = self.shape.documents(self.call, self.only, keys)
        by_key = {tuple([each[part] for part in self.shape.key]): each for each in documents}
        found = [self.plain(by_key[key]) for key in keys if key in by_key]
        return [reduced(each, self.columns) for each in found] if self.columns else found


def _as_it_is(document: Document) -> Document:
    return document


def _parts(keys: list[Key]) -> Iterator[list[Key]]:
    return (keys[at : at + PART] for at in range(0, len(keys), PART))


def answer(call: "Call", documents: Iterable[Document], sort: Sequence[str] = DEFAULT_SORT) -> Any:
    """Return a list of documents, or a page of them, as the request asks for it. Raises HttpError."""
    page, columns = page_of(call.query), columns_of(call.query)
    found = list(documents)
    total = len(found)
    counts: Document = {}
    found = arranged(chosen(found, conditions_of(call.query)), order_of(call.query, sort))
    if page is not None:
        found, counts = _cut(found, total, page, lambda each: str(each.get("name", "")))
    items = [reduced(each, columns) for each in found] if columns else found
    return items if page is None else {**counts, "items": items}


def _cut(found: list[_T], total: int, page: Page, name_of: Callable[[_T], str]) -> tuple[list[_T], Document]:
    """Return what is on a page, and the numbers that are told beside it. Raises HttpError: there is no such page."""
    if page.matches is not None:
        found = [each for each in found if page.matches(name_of(each))]
    count = len(found)
    begin = (page.number - 1) * page.size
    if begin > count:
        reason = f"Page out of range, page: {page.number} page size: {page.size}, len: {count}"
        raise HttpError(400, "page_out_of_range", reason)
    found = found[begin : begin + page.size]
    return found, {
        "filtered_count": count,
        "item_count": len(found),
        "page": page.number,
        "page_count": -(-count // page.size),
        "page_size": page.size,
        "total_count": total,
    }


def page_of(query: "MultiDict[str, str]") -> Page | None:
    """Return the page that is asked for, None for all. Raises HttpError."""
    if "page" not in query:
        return None
    try:
        number, size = int(query["page"]), int(query.get("page_size", PAGE_SIZE))
    except ValueError:
        raise bad_request(INVALID) from None
    if number < 1 or not 1 <= size <= PAGE_SIZE_MAX:
        given = query.get("page_size", "undefined")
        reason = f"Invalid pagination parameters: page number {number}, page size {given}"
        raise HttpError(400, "invalid_pagination_parameters", reason)
    name = query.get("name", "")
    return Page(number, size, _matcher(name, query.get("use_regex") == "true") if name else None)


def conditions_of(query: "MultiDict[str, str]") -> tuple[Condition, ...]:
    """Return the conditions of `where`, all of which have to hold. Raises HttpError."""
    found = []
    for text in filter(None, query.get("where", "").split(",")):
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise bad_request(f"where: '{text}' is not a member, ==, < or >, and a whole number")
        found.append(Condition(match[1], _COMPARISONS[match[2]], int(match[3])))
    return tuple(found)


# Differs from RabbitMQ: its patterns are those of PCRE.
def _matcher(text: str, is_pattern: bool) -> Callable[[str], bool]:
    """Return a test of names, which does not tell small letters from large ones. Raises HttpError."""
    if not is_pattern:
        wanted = text.lower()
        return lambda name: wanted in name.lower()
    if len(text) > PATTERN_MAX:
        raise bad_request(INVALID)
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        search = re2.compile(text, options).search
    except re2.error:
        raise bad_request(INVALID) from None
    return lambda name: search(name) is not None


def columns_of(query: "MultiDict[str, str]") -> list[str]:
    """Return the columns that are asked for; none for all."""
    return [name for name in query.get("columns", "").split(",") if name]


def of_columns(document: Document, query: "MultiDict[str, str]") -> Document:
    """Return one object with the columns that are asked for; a page has been reduced to them already."""
    columns = columns_of(query)
    return reduced(document, columns) if columns and "page" not in query else document


def reduced(document: Document, columns: Iterable[str]) -> Document:
    """Return a document with these columns alone, as far as it has them."""
    found: Document = {}
    for path in [column.split(".") for column in columns]:
        value: Any = document
        for word in path:
            if not isinstance(value, dict) or word not in value:
                break
            value = value[word]
        else:
            place = found
            for word in path[:-1]:
                place = place.setdefault(word, {})
            place[path[-1]] = value
    return found
