"""Users, their limits, and what they may do."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT
from pybroker.http import fields, lists
from pybroker.http.errors import bad_request, not_found
from pybroker.http.node import Refused
from pybroker.http.route import DONE, Reply, Route, written
from pybroker.http.shapes import PERMISSION, TOPIC_PERMISSION, USER, USER_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.http.call import Call
    from pybroker.http.lists import Document
    from pybroker.http.shapes import Shape


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
    return _of_user(call, user, PERMISSION.documents(call), lists.PERMISSION_SORT)


def _topic_permissions(call: "Call", user: str | None = None) -> Any:
    return _of_user(call, user, TOPIC_PERMISSION.documents(call), lists.TOPIC_SORT)


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


def _put(call: "Call", user: str) -> Reply:
    given = call.fields()
    if "tags" not in given:
        raise bad_request("tags_not_present")
    secrets = {
        name: fields.text(given[name], name) for name in ("password", "password_hash") if given.get(name) is not None
    }
    if len(secrets) > 1:
        raise bad_request("both_password_and_password_hash_are_provided")
    return written(call.ask("put_user", username=user, tags=fields.tags(given["tags"]), **secrets))


def _delete(call: "Call", user: str) -> Reply:
    call.ask("delete_user", username=user)
    return DONE


def _delete_many(call: "Call") -> Reply:
    (names,) = fields.required(call.fields(), "users")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise bad_request("users is not a list of names")
    known = {each["name"] for each in USER.documents(call)}
    for name in names:
        if name not in known:
            raise bad_request(["no_such_user", name])
    for name in dict.fromkeys(names):
        call.ask("delete_user", username=name)
    return DONE


def _set_permission(call: "Call", vhost: str, user: str) -> Reply:
    names = ("configure", "write", "read")
    patterns = {
        name: fields.text(value, name)
        for name, value in zip(names, fields.required(call.fields(), *names), strict=True)
    }
    is_there = any(each["user"] == user for each in _known(call, PERMISSION, vhost))
    _changed(call, "set_permissions", username=user, vhost=vhost, **patterns)
    return DONE if is_there else Reply(201)


def _clear_permission(call: "Call", vhost: str, user: str) -> Reply:
    _permission(call, vhost, user)
    call.ask("clear_permissions", username=user, vhost=vhost)
    return DONE


def _set_topic_permission(call: "Call", vhost: str, user: str, exchange: str | None = None) -> Reply:
    given = call.fields()
    if exchange is not None:
        given = {"exchange": exchange, **given}
    names = ("exchange", "write", "read")
    what = {name: fields.text(value, name) for name, value in zip(names, fields.required(given, *names), strict=True)}
    is_there = any(each["user"] == user for each in _known(call, TOPIC_PERMISSION, vhost))
    _changed(call, "set_topic_permissions", username=user, vhost=vhost, **what)
    return DONE if is_there else Reply(201)


def _clear_topic_permissions(call: "Call", vhost: str, user: str, exchange: str | None = None) -> Reply:
    _topic_permissions_of(call, vhost, user)
    call.ask("clear_topic_permissions", username=user, vhost=vhost, exchange=exchange)
    return DONE


def _known(call: "Call", shape: "Shape", vhost: str) -> "list[Document]":
    """Return what there is in a virtual host, which may not be there itself. Raises HttpError."""
    try:
        return list(shape.documents(call, vhost))
    except Refused as refused:
        raise _nowhere(refused) from None


def _changed(call: "Call", command: str, **args: Any) -> None:
    try:
        call.ask(command, **args)
    except Refused as refused:
        raise _nowhere(refused) from None


def _nowhere(refused: Refused) -> Exception:
    """Return the error for a permission of nobody, or for nothing."""
    is_missing = refused.facts.get("missing") in {"vhost", "user"}
    return bad_request("vhost_or_user_not_found") if is_missing else refused


def _set_limit(call: "Call", user: str, name: str) -> Reply:
    (value,) = fields.required(call.fields(), "value")
    try:
        call.ask("set_user_limits", username=user, definition=fields.as_json({name: value}))
    except Refused as refused:
        raise bad_request(["no_such_user", user]) if "missing" in refused.facts else refused from None
    return DONE


def _clear_limit(call: "Call", user: str, name: str) -> Reply:
    call.ask("clear_user_limits", username=user, limit_type=name)
    return DONE


ROUTES: Final = (
    Route("GET", "/api/whoami", MANAGEMENT, _whoami),
    Route("GET", "/api/users", ADMINISTRATOR, _list),
    Route("GET", "/api/users/without-permissions", ADMINISTRATOR, _without_permissions),
    Route("GET", "/api/users/<user>", ADMINISTRATOR, _get),
    Route("PUT", "/api/users/<user>", ADMINISTRATOR, _put),
    Route("DELETE", "/api/users/<user>", ADMINISTRATOR, _delete),
    Route("POST", "/api/users/bulk-delete", ADMINISTRATOR, _delete_many),
    Route("GET", "/api/users/<user>/permissions", ADMINISTRATOR, _permissions),
    Route("GET", "/api/users/<user>/topic-permissions", ADMINISTRATOR, _topic_permissions),
    Route("GET", "/api/auth/hash_password/<password>", ADMINISTRATOR, _hash_password),
    Route("GET", "/api/user-limits", MANAGEMENT, _limits),
    Route("GET", "/api/user-limits/<user>", MANAGEMENT, _limits),
    Route("GET", "/api/permissions", ADMINISTRATOR, _permissions),
    Route("GET", "/api/permissions/<vhost>/<user>", ADMINISTRATOR, _permission),
    Route("PUT", "/api/permissions/<vhost>/<user>", ADMINISTRATOR, _set_permission),
    Route("DELETE", "/api/permissions/<vhost>/<user>", ADMINISTRATOR, _clear_permission),
    Route("GET", "/api/topic-permissions", ADMINISTRATOR, _topic_permissions),
    Route("GET", "/api/topic-permissions/<vhost>/<user>", ADMINISTRATOR, _topic_permissions_of),
    Route("PUT", "/api/topic-permissions/<vhost>/<user>", ADMINISTRATOR, _set_topic_permission),
    Route("DELETE", "/api/topic-permissions/<vhost>/<user>", ADMINISTRATOR, _clear_topic_permissions),
    Route("GET", "/api/topic-permissions/<vhost>/<user>/<exchange>", ADMINISTRATOR, _topic_permission),
    Route("PUT", "/api/topic-permissions/<vhost>/<user>/<exchange>", ADMINISTRATOR, _set_topic_permission),
    Route("DELETE", "/api/topic-permissions/<vhost>/<user>/<exchange>", ADMINISTRATOR, _clear_topic_permissions),
    Route("PUT", "/api/user-limits/<user>/<name>", ADMINISTRATOR, _set_limit),
    Route("DELETE", "/api/user-limits/<user>/<name>", ADMINISTRATOR, _clear_limit),
)
