"""Application: scrapes become questions to the node, and its answers text for Prometheus; WSGI."""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError, ServiceUnavailable
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from pybroker.http.compression import compress
from pybroker.http.metrics import collect
from pybroker.http.node import Node, Refused, Unavailable
from pybroker.http.route import Reply
from pybroker.http.routes import health
from pybroker.text import exposition

QUEUE_PATTERN_MAX: Final = 1_000

Start = Callable[..., Any]
Text = Iterator[str]


class Application:
    """Answers requests with what the node tells."""

    def __init__(self, node: Node, series_max: int) -> None:
        self._node = node
        self._series_max = series_max
        endpoints = {
            "/": self._index,
            "/metrics": self._aggregated,
            "/metrics/per-object": self._per_object,
            "/metrics/detailed": self._detailed,
            "/metrics/memory-breakdown": self._memory,
            "/livez": self._live,
            "/readyz": self._ready,
        }
        rules = [Rule(path, endpoint=endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]
        self._map = Map(rules, strict_slashes=False)

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        try:
            endpoint, _ = self._map.bind_to_environ(environ).match(method=request.method)
            response = self._respond(request, endpoint(request))
        except (Unavailable, Refused, collect.TooMany) as error:
            response = _plain(ServiceUnavailable(str(error)))
        except collect.BadPattern as error:
            response = _plain(BadRequest(str(error)))
        except HTTPException as error:
            response = _plain(error)
        except Exception:  # noqa: BLE001 - a fault of ours; its traceback goes to the log of the node
            traceback.print_exc()
            response = _plain(InternalServerError("pybroker-web failed at this request; the log of the node says how"))
        return response(request.environ, start)

    @staticmethod
    def _respond(request: Request, parts: Text | Reply) -> Response:
        """Return a text, whole before its first octet is sent: a scrape that fails half-way has no answer."""
        if isinstance(parts, Reply):
            return Response(json.dumps(parts.document), parts.status, content_type="application/json")
        return compress(request, Response("".join(parts).encode(), content_type=exposition.CONTENT_TYPE))

    # -- endpoints ----------------------------------------------------------------------------------------------------

    def _index(self, _: Request) -> Text:
        yield "pybroker: metrics for Prometheus are at\n"
        yield from (f"{rule.rule}\n" for rule in self._map.iter_rules() if rule.rule.startswith("/metrics"))

    def _aggregated(self, _: Request) -> Text:
        return collect.aggregated(self._node)

    def _per_object(self, _: Request) -> Text:
        return collect.per_object(self._node, self._series_max)

    def _detailed(self, request: Request) -> Text:
        families, vhosts = request.args.getlist("family"), request.args.getlist("vhost")
        queues = request.args.getlist("queue")
        if len(queues) > 1:
            raise BadRequest("only one parameter 'queue' is allowed")
        if queues and len(queues[0]) > QUEUE_PATTERN_MAX:
            raise BadRequest("the pattern of 'queue' is too long")
        chosen = collect.Filter(tuple(vhosts), queues[0] if queues else "")
        return collect.detailed(self._node, families, chosen, self._series_max)

    def _live(self, _: Request) -> Reply:
        return health.live(self._node.ask)

    def _ready(self, _: Request) -> Reply:
        return health.ready(self._node.ask)

    def _memory(self, _: Request) -> Text:
        return collect.memory_breakdown(self._node)


def _plain(error: HTTPException) -> Response:
    response = Response(f"{error.description}\n", error.code, content_type="text/plain; charset=utf-8")
    allowed = getattr(error, "valid_methods", None)
    if allowed:
        response.headers["Allow"] = ", ".join(sorted(allowed))
    return response
