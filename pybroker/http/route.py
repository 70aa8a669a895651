"""Route: a method and a path of the HTTP API, the tag it asks for, and the function that answers it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes

from werkzeug.routing import BaseConverter, Map, Rule

from pybroker.control.access import Access
from pybroker.http.errors import not_found

# Anybody may ask, without a login.
NO_LOGIN: Final[Access] = "none"


class Reply(NamedTuple):
    """An answer with a status or headers of its own; `document` is sent as JSON, None as nothing."""

    status: int
    document: Any = None
    headers: Mapping[str, str] = {}


DONE: Final = Reply(204)


def written(answer: Mapping[str, Any]) -> Reply:
    """Return the reply to PUT: whether the object was `created`, or was there and is as it was asked for."""
    return Reply(201) if answer["created"] else DONE


class Route(NamedTuple):
    """One route. `<vhost>` and other parts of `path` are the arguments of `answer`, as text.

    `answer` gets a Call before these, and returns what is sent as JSON, or a Reply. Errors are raised as HttpError.
    """

    method: str
    path: str
    tag: Access
    answer: Callable[..., Any]


class _Name(BaseConverter):
    """A part of the path that may hold any character, escaped."""

    def to_python(self, value: str) -> str:
        try:
            return unquote_to_bytes(value).decode()
        except UnicodeDecodeError:
            raise not_found() from None

    def to_url(self, value: str) -> str:
        raise NotImplementedError


def route_map(routes: Iterable[Route]) -> Map:
    """Return the map of paths as they are sent: `%2F` in a name is no separator."""
    rules = [Rule(route.path, endpoint=route, methods=[route.method]) for route in routes]
    return Map(rules, strict_slashes=False, merge_slashes=False, converters={"default": _Name})
