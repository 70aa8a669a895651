"""Lists: sorted, filtered, cut into pages and reduced to columns, as a request asks for it."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import re2

from pybroker.http.errors import HttpError, bad_request

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

    from pybroker.http.call import Call
    from pybroker.http.shapes import Shape

Document: TypeAlias = dict[str, Any]

PAGE_SIZE: Final = 100
PAGE_SIZE_MAX: Final = 500
PATTERN_MAX: Final = 1_024
INVALID: Final = "Pagination parameters are invalid"
DEFAULT_SORT: Final = ("vhost", "name")
BINDING_SORT: Final = ("vhost", "source", "destination_type", "destination", "routing_key", "properties_key")


class Page(NamedTuple):
    """A page that is asked for; `matches` tells names that are wanted."""

    number: int
    size: int
    matches: Callable[[str], bool] | None


def answer_of(
    call: "Call", shape: "Shape", only: str | None = None, plain: Callable[[Document], Document] | None = None
) -> Any:
    """Return a list of all objects of a shape that the user sees, or a page of them, each made `plain`.

    Of a page, only its own objects are read whole, if the node knows what it is sorted by. Raises HttpError, Refused.
    """
    change = plain or (lambda document: document)
    index = None if page_of(call.query) is None else shape.indexed(_sort_keys(call.query, DEFAULT_SORT))
    if index is None:
        return answer(call, map(change, shape.documents(call, only)))
    found = answer(call, index.documents(call, only), columns=())
    keys = [[each[part] for part in shape.key] for each in found["items"]]
    whole = (
        {tuple(each[part] for part in shape.key): each for each in shape.documents(call, only, keys)} if keys else {}
    )
    # One that is gone since is left out.
    items = [change(whole[tuple(key)]) for key in keys if tuple(key) in whole]
    chosen = columns_of(call.query)
    return {**found, "items": [reduced(each, chosen) for each in items] if chosen else items}


def answer(
    call: "Call",
    documents: Iterable[Document],
    sort: Sequence[str] = DEFAULT_SORT,
    columns: Sequence[Sequence[str]] | None = None,
) -> Any:
    """Return a list of documents, or a page of them, as the request asks for it. Raises HttpError."""
    query = call.query
    page = page_of(query)
    found = list(documents)
    total = len(found)
    if page is not None and page.matches is not None:
        found = [each for each in found if page.matches(str(each.get("name", "")))]
    found = ordered(found, query, sort)
    chosen = columns_of(query) if columns is None else columns
    if page is None:
        return found if not chosen else [reduced(each, chosen) for each in found]
    count = len(found)
    begin = (page.number - 1) * page.size
    if begin > count:
        reason = f"Page out of range, page: {page.number} page size: {page.size}, len: {count}"
        raise HttpError(400, "page_out_of_range", reason)
    found = found[begin : begin + page.size]
    return {
        "filtered_count": count,
        "item_count": len(found),
        "items": found if not chosen else [reduced(each, chosen) for each in found],
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


def ordered(documents: list[Document], query: "MultiDict[str, str]", sort: Sequence[str]) -> list[Document]:
    """Return documents in the order that is asked for; `sort=` asks for none."""
    keys = _sort_keys(query, sort)
    if not keys:
        return documents
    paths = [key.split(".") for key in keys]
    return sorted(
        documents,
        key=lambda each: [_rank(_value(each, path)) for path in paths],
        reverse=query.get("sort_reverse") == "true",
    )


def _sort_keys(query: "MultiDict[str, str]", sort: Sequence[str]) -> Sequence[str]:
    wanted = query.get("sort")
    return sort if wanted is None else [wanted] if wanted else []


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


def _value(document: Any, path: Sequence[str]) -> Any:
    """Return the value at the end of a path; a missing one counts as 0."""
    for word in path:
        if not isinstance(document, dict) or word not in document:
            return 0
        document = document[word]
    return document


def columns_of(query: "MultiDict[str, str]") -> list[list[str]]:
    """Return the paths of the columns that are asked for; none for all."""
    return [name.split(".") for name in query.get("columns", "").split(",") if name]


def reduced(document: Document, columns: Iterable[Sequence[str]]) -> Document:
    """Return a document with these columns alone, as far as it has them."""
    found: Document = {}
    for path in columns:
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
