"""Application: the HTTP API and the pages of the web interface; WSGI.

A request finds its route by the path as it was sent, then its user, then the route's function answers. The node decides
what the user may do and see; the route's tag only spares it the question.
"""

import sys
import traceback
from collections.abc import Callable, Iterable
from hashlib import blake2b
from http import HTTPStatus
from typing import Any, Final

from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound, RequestEntityTooLarge
from werkzeug.wrappers import Request, Response

from pybroker.control.access import ADMITTED, MANAGEMENT
from pybroker.http import errors, lists, pages
from pybroker.http.browsers import guard
from pybroker.http.call import Call
from pybroker.http.compression import compress
from pybroker.http.errors import HttpError
from pybroker.http.fields import as_json
from pybroker.http.logins import SAFE_METHODS, Identity, Logins
from pybroker.http.node import Node, Refused, Unavailable
from pybroker.http.order import Indexes
from pybroker.http.route import NO_LOGIN, Reply, Route, route_map
from pybroker.http.routes import ROUTES
from pybroker.http.routes.exchanges import DEFAULT
from pybroker.http.samples.samples import Samples
from pybroker.http.settings import Management

JSON: Final = "application/json"
# Paths in which an exchange may have no name.
NAMELESS_IN: Final = ("/api/exchanges/", "/api/bindings/")
ETAG_OCTETS: Final = 16
# Of the body of a request without a login: a name and a password.
STRANGER_OCTETS_MAX: Final = 8_192

Start = Callable[..., Any]


class Application:
    """Answers requests with what the node tells."""

    def __init__(self, node: Node, settings: Management, samples: Samples) -> None:
        self._node = node
        self._settings = settings
        self._logins = Logins(node, 60 * settings.session_minutes, settings.origins)
        self._samples = samples
        self._indexes = Indexes(samples.now_ms)
        self._map = route_map((*ROUTES, *pages.ROUTES))

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        request.max_content_length = self._settings.body_octets_max
        response = self._answer(request)
        guard(request, response, self._settings)
        # Werkzeug writes UNAUTHORIZED; clients compare the phrase of the standard.
        response.status = f"{response.status_code} {HTTPStatus(response.status_code).phrase}"
        return response(request.environ, start)

    def _answer(self, request: Request) -> Response:
        try:
            return self._routed(request)
        except HttpError as error:
            return _error(error)
        except Refused as refused:
            if refused.exit_code == errors.LOGIN_ENDED:
                return _error(errors.login_failed(asks=False))
            return _error(errors.from_refusal(refused))
        except Unavailable as error:
            return _error(errors.unavailable(str(error)))
        except RequestEntityTooLarge:
            reason = f"the body of the request has more than {request.max_content_length} octets"
            return _error(HttpError(413, "bad_request", reason))
        except HTTPException as error:
            return _error(errors.bad_request(error.description or "bad request"))
        except Exception:  # noqa: BLE001 - a fault of ours; its traceback goes to the log of the node
            print(f"request {request.environ.get('pybroker.request')} failed:", file=sys.stderr)  # noqa: T201
            traceback.print_exc()
            reason = "pybroker-web failed at this request; the log of the node says how"
            return _error(HttpError(500, "internal_error", reason))

    def _routed(self, request: Request) -> Response:
        """Find the route and answer. Raises HttpError, Refused, Unavailable, HTTPException."""
        path = request.environ["PATH_INFO"]
        if path.startswith(NAMELESS_IN):
            # Clients leave out the name that is empty.
            path = path.replace("//", f"/{DEFAULT}/")
        found = self._map.bind_to_environ({**request.environ, "PATH_INFO": path})
        if request.method == "OPTIONS":
            allowed = found.allowed_methods()
            if not allowed:
                raise errors.not_found()
            return Response(status=200, headers={"Allow": _allow(allowed)})
        try:
            route, names = found.match(method=request.method)
        except NotFound:
            raise errors.not_found() from None
        except MethodNotAllowed as error:
            headers = {"Allow": _allow(error.valid_methods or ())}
            raise HttpError(405, "method_not_allowed", "Method Not Allowed", headers) from None
        identity = None if route.tag == NO_LOGIN else self._admitted(request, route)
        if identity is None:
            request.max_content_length = min(self._settings.body_octets_max, STRANGER_OCTETS_MAX)
        call = Call(request, self._node, identity, self._logins, self._samples, self._indexes)
        try:
            return _response(request, route.answer(call, **names))
        finally:
            if request.method not in SAFE_METHODS:
                self._indexes.clear()

    def _admitted(self, request: Request, route: Route) -> Identity:
        """Return the user, who has the tag that the route asks for. Raises as Logins.identify."""
        identity = self._logins.identify(request)
        request.environ["pybroker.user"] = identity.name
        if _tag_refusal(route, identity):
            identity = self._logins.refresh(request, identity)
        if text := _tag_refusal(route, identity):
            raise errors.not_authorised(text)
        return identity


def _tag_refusal(route: Route, identity: Identity) -> str:
    """Return why the user's tags do not admit to a route; nothing if they do."""
    # Nothing else is said to users who may not come in at all.
    for access in (MANAGEMENT, route.tag):
        tags, text = ADMITTED[access]
        if tags.isdisjoint(identity.tags):
            return text
    return ""


def _allow(methods: Iterable[str]) -> str:
    return ", ".join(sorted({*methods, "OPTIONS"}))


def _response(request: Request, answer: Any) -> Response:
    """Return what a route's function has answered, as a response."""
    if isinstance(answer, Response):
        return answer
    status, document, headers = answer if isinstance(answer, Reply) else Reply(200, answer)
    if document is None:
        return Response(status=status, headers=dict(headers))
    if isinstance(document, dict):
        document = lists.of_columns(document, request.args)
    octets = as_json(document).encode()
    response = Response(octets, status, dict(headers), content_type=JSON)
    if status == 200:
        response.set_etag(blake2b(octets, digest_size=ETAG_OCTETS).hexdigest(), weak=True)
        response.make_conditional(request.environ)
        if response.status_code == 304:
            return response
    return compress(request, response)


def _error(error: HttpError) -> Response:
    return Response(as_json(error.document), error.status, error.headers, content_type=JSON)
