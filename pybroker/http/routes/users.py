"""Users, their limits, and what they may do."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT
from pybroker.http import lists
from pybroker.http.errors import not_found
from pybroker.http.route import Route
from pybroker.http.shapes import PERMISSION, TOPIC_PERMISSION, USER, USER_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.http.call import Call
    from pybroker.http.lists import Document

PERMISSION_SORT: Final = ("vhost", "user")
TOPIC_SORT: Final = (*PERMISSION_SORT, "exchange")


def _list(call: "Call") -> Any:
    return lists.answer(call, USER.documents(call), ("name",))


def _get(call: "Call", user: str) -> "Document":
    found = USER.one(call, user)
    if found is None:
        raise not_found()
    return found


def _whoami(call: "Call") -> "Document":
    found = call.ask("whoami")
    return {"name": found["name"], "tags": found["tags"], "is_internal_user": True}


def _without_permissions(call: "Call") -> Any:
    known = {each["user"] for each in PERMISSION.documents(call)}
    return lists.answer(call, (each for each in USER.documents(call) if each["name"] not in known), ("name",))


def _permissions(call: "Call", user: str | None = None) -> Any:
    return _of_user(call, user, PERMISSION.documents(call), PERMISSION_SORT)


def _topic_permissions(call: "Call", user: str | None = None) -> Any:
    return _of_user(call, user, TOPIC_PERMISSION.documents(call), TOPIC_SORT)


def _of_user(call: "Call", user: str | None, found: "Iterable[Document]", sort: tuple[str, ...]) -> Any:
    """Answer with what is of a user, or of all. Raises HttpError: there is no such user."""
    if user is not None:
        _get(call, user)
        found = (each for each in found if each["user"] == user)
    return lists.answer(call, found, sort)


def _permission(call: "Call", vhost: str, user: str) -> "Document":
    for each in PERMISSION.documents(call, vhost):
        if each["user"] == user:
            return each
    raise not_found()


def _topic_permissions_of(call: "Call", vhost: str, user: str) -> "list[Document]":
    found = [each for each in TOPIC_PERMISSION.documents(call, vhost) if each["user"] == user]
    if not found:
        raise not_found()
    return found


def _topic_permission(call: "Call", vhost: str, user: str, exchange: str) -> "Document":
    for each in _topic_permissions_of(call, vhost, user):
        if each["exchange"] == exchange:
            return each
    raise not_found()


def _hash_password(call: "Call", password: str) -> "Document":
    return {"ok": call.ask("hash_password", password=password)["password_hash"]}


def _limits(call: "Call", user: str | None = None) -> Any:
    found = USER_LIMIT.documents(call)
    if user is not None:
        found = (each for each in found if each["user"] == user)
    return lists.answer(call, found, ("user",))


ROUTES: Final = (
    Route("GET", "/api/whoami", MANAGEMENT, _whoami),
    Route("GET", "/api/users", ADMINISTRATOR, _list),
    Route("GET", "/api/users/without-permissions", ADMINISTRATOR, _without_permissions),
    Route("GET", "/api/users/<user>", ADMINISTRATOR, _get),
    Route("GET", "/api/users/<user>/permissions", ADMINISTRATOR, _permissions),
    Route("GET", "/api/users/<user>/topic-permissions", ADMINISTRATOR, _topic_permissions),
    Route("GET", "/api/auth/hash_password/<password>", ADMINISTRATOR, _hash_password),
    Route("GET", "/api/user-limits", MANAGEMENT, _limits),
    Route("GET", "/api/user-limits/<user>", MANAGEMENT, _limits),
    Route("GET", "/api/permissions", ADMINISTRATOR, _permissions),
    Route("GET", "/api/permissions/<vhost>/<user>", ADMINISTRATOR, _permission),
    Route("GET", "/api/topic-permissions", ADMINISTRATOR, _topic_permissions),
    Route("GET", "/api/topic-permissions/<vhost>/<user>", ADMINISTRATOR, _topic_permissions_of),
    Route("GET", "/api/topic-permissions/<vhost>/<user>/<exchange>", ADMINISTRATOR, _topic_permission),
)
