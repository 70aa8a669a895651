"""Sessions of the web interface: a person's login, kept in a cookie that scripts cannot read."""

from typing import TYPE_CHECKING, Any, Final

from werkzeug.wrappers import Response

from pybroker.control.access import ADMITTED, MANAGEMENT
from pybroker.http.errors import bad_request, not_authorised
from pybroker.http.logins import cookie_name
from pybroker.http.route import NO_LOGIN, Reply, Route

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document
    from pybroker.http.logins import Identity

PATH: Final = "/api/pybroker/session"


def _document(identity: "Identity") -> "Document":
    """Return who is logged in; unsafe requests with the cookie have to send the token as X-CSRF-Token."""
    return {"name": identity.name, "tags": list(identity.tags), "csrf_token": identity.token}


def _begin(call: "Call") -> Reply:
    fields = call.fields()
    name, password = fields.get("username"), fields.get("password")
    if not isinstance(name, str) or not isinstance(password, str):
        raise bad_request("username and password are needed, both text")
    identity = call.logins.begin(call.request, name, password)
    tags, text = ADMITTED[MANAGEMENT]
    if tags.isdisjoint(identity.tags):
        call.logins.end(identity)
        raise not_authorised(text)
    return Reply(200, _document(identity), {"Set-Cookie": _cookie(call, identity.handle)})


def _show(call: "Call") -> "Document":
    assert call.identity is not None
    return _document(call.identity)


def _end(call: "Call") -> Reply:
    assert call.identity is not None
    call.logins.end(call.identity)
    return Reply(204, None, {"Set-Cookie": _cookie(call, "", max_age=0)})


def _cookie(call: "Call", value: str, **more: Any) -> str:
    response, request = Response(), call.request
    secure = request.scheme == "https"
    response.set_cookie(cookie_name(request), value, httponly=True, samesite="Strict", secure=secure, path="/", **more)
    return response.headers["Set-Cookie"]


ROUTES: Final = (
    Route("POST", PATH, NO_LOGIN, _begin),
    Route("GET", PATH, MANAGEMENT, _show),
    Route("DELETE", PATH, MANAGEMENT, _end),
)
