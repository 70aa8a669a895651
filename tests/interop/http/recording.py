"""Make a recording of what a client asks: `record` it while it runs, then `distil` that to what is worth keeping.

    python -m tests.interop.http.recording record NODE.sock.web 15672 raw.jsonl
    python -m tests.interop.http.recording distil raw.jsonl CLIENT-SOURCES > NAME.jsonl

The first serves the HTTP API of a node that runs, in place of its own pybroker-web, and writes down all that is asked
and answered. The second keeps the requests that differ, and those before that they need to be answered as they were: it
replays shorter and shorter recordings. Requests that depend on messages and connections of the client are left out,
and told on standard error.
"""

import io
import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from werkzeug.exceptions import HTTPException

from pybroker.http.application import Application
from pybroker.http.errors import HttpError
from pybroker.http.route import route_map
from pybroker.http.routes import ROUTES
from tests.interop.http.replay import CONNECTION, GUEST, Replay, Request, members, missing

MAP = route_map(ROUTES)
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]+")
# Of a connection or a channel, as the node names them, escaped.
PEER = re.compile(r"(?<=/)[0-9.]+(?::|%3A)\d+(?:%20|\+)-(?:%3E|>)(?:%20|\+)[0-9.]+(?::|%3A)\d+", re.IGNORECASE)
QUEUE = re.compile("/api/queues/[^/?]+/[^/?]+")
NOUNS = {
    *("%2F", "guest", "max-connections", "max-channels", "max-queues"),
    *(part for route in ROUTES for part in route.path.split("/") if not part.startswith("<")),
}
# Plugins that there are not: their answers are no example.
ABSENT = re.compile("/(shovel|federation|stream)", re.IGNORECASE)


def record(socket: str, port: str, file: str) -> None:
    """Serve, and append each request with its answer to a file."""
    import gevent

    from pybroker.http.door.access_log import AccessLog
    from pybroker.http.door.server import Server
    from pybroker.http.node import Node
    from pybroker.http.samples.samples import Samples
    from pybroker.http.settings import Settings

    node = Node(Path(socket))
    management = Settings.of(node.ask("web_settings")).management
    assert management is not None
    samples = Samples(node)
    application = Application(node, management, samples)
    gevent.spawn(samples.run)
    with Path(file).open("a", buffering=1) as output:
        Server(("", int(port)), partial(_recorded, application, output), AccessLog(print)).serve_forever()


def _recorded(application: Application, output: Any, environ: dict[str, Any], start: Any) -> list[bytes]:
    """Answer a request, and write both down."""
    body = environ["wsgi.input"].read()
    environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    for name in ("HTTP_TRANSFER_ENCODING", "HTTP_ACCEPT_ENCODING"):
        environ.pop(name, None)
    status = 0

    def begin(line: str, *more: Any) -> Any:
        nonlocal status
        status = int(line.split(maxsplit=1)[0])
        return start(line, *more)

    answer = b"".join(application(environ, begin))
    query = environ.get("QUERY_STRING")
    line = {
        "method": environ["REQUEST_METHOD"],
        "path": environ["PATH_INFO"] + (f"?{query}" if query else ""),
        "login": environ.get("HTTP_AUTHORIZATION", ""),
        "body": body.decode(errors="replace"),
        "status": status,
        "answer": answer.decode(errors="replace"),
    }
    output.write(json.dumps(line) + "\n")
    return [answer]


def distil(file: str, *sources: str) -> None:
    """Print the requests of a raw recording that are worth keeping; `sources` are files of the client."""
    words = frozenset(_words(sources))
    requests = [_request(json.loads(line), words) for line in Path(file).read_text().splitlines()]
    requests = [each for each in requests if not ABSENT.search(each.path)]
    requests, before = _answered(_related(requests)), []
    while requests != before:  # those that were left out may have done something
        requests, before = _answered(requests), requests
    for request in _shortest(requests):
        print(request.line())


def _words(sources: tuple[str, ...]) -> Iterator[str]:
    """Yield the words of a client's sources, and with underscores those in its own style."""
    for source in sources:
        for word in WORD.findall(Path(source).read_text(errors="replace")):
            yield word
            yield re.sub("(?<=[a-z0-9])([A-Z])", r"_\1", word).lower()


def _request(line: dict[str, Any], words: frozenset[str]) -> Request:
    from base64 import b64decode

    login = b64decode(line["login"].removeprefix("Basic ")).decode() if line["login"] else ""
    path = PEER.sub(CONNECTION, line["path"])
    reads = {}
    if line["status"] == 200 and line["answer"]:
        found = members(json.loads(line["answer"]), words)
        reads = {kind: " ".join(sorted(found[kind])) for kind in sorted(found)}
    try:
        body = json.loads(line["body"]) if line["body"] else None
    except ValueError:
        body = line["body"]
    return Request(line["method"], path, line["status"], login, body, reads)


def _kind(request: Request) -> tuple[Any, ...]:
    """Return what makes a request differ from others: route, parameters, members of the body, and the answer."""
    path, _, query = request.path.partition("?")
    try:
        rule = MAP.bind("localhost").match(path, request.method)[0].path
    except (HTTPException, HttpError):
        rule = path
    names = tuple(sorted(part.partition("=")[0] for part in query.split("&")))
    body = tuple(sorted(request.body)) if isinstance(request.body, dict) else type(request.body).__name__
    is_guest = request.user == GUEST
    return request.method, rule, names, body, is_guest, request.status, tuple(request.reads.items())


def _related(requests: list[Request]) -> list[Request]:
    """Return the first request of each kind, and all that change an object that one of these names."""
    first: dict[tuple[Any, ...], Request] = {}
    for request in requests:
        first.setdefault(_kind(request), request)
    chosen = {id(each) for each in first.values()}
    names = {name for each in first.values() for name in _names(each)}
    writes = {id(each) for each in requests if each.method != "GET" and not names.isdisjoint(_names(each))}
    return [each for each in requests if id(each) in chosen | writes]


def _names(request: Request) -> set[str]:
    """Return the names of objects in a path."""
    parts = request.path.partition("?")[0].split("/")[2:]
    return {part for part in parts if part not in NOUNS}


def _is_same(replay: Replay, request: Request) -> str:
    """Return why a request is answered otherwise than it was; nothing if it is not."""
    status, document = replay.answer(request)
    if status != request.status:
        return f"{status} instead of {request.status}"
    return ", ".join(missing(request, document))


def _answered(requests: list[Request]) -> list[Request]:
    """Return the requests that are answered in a replay as they were; of others nothing else may depend."""
    replay, found = Replay(), []
    for request in requests:
        if (queue := QUEUE.match(request.path)) and request.status != 404:
            # The client has declared it by AMQP.
            helper = Request("PUT", queue[0], 201, body={"durable": True})
            if replay.answer(helper._replace(method="GET"))[0] == 404 and request.method != "PUT":
                replay.answer(helper)
                found.append(helper)
        if difference := _is_same(replay, request):
            print(f"left out: {request.method} {request.path}: {difference}", file=sys.stderr)
        else:
            found.append(request)
    return found


def _shortest(requests: list[Request]) -> list[Request]:
    """Return a shorter recording with the same kinds of requests, answered in the same way."""
    seen, spare = set(), []
    for request in requests:
        kind = _kind(request)
        if kind in seen:
            spare.append(id(request))
        seen.add(kind)
    size = len(spare)
    while size:
        for at in range(0, len(spare), size):
            without = set(spare[at : at + size])
            rest = [each for each in requests if id(each) not in without]
            if len(rest) < len(requests) and _holds(rest):
                requests = rest
        size //= 2
    return requests


def _holds(requests: list[Request]) -> bool:
    replay = Replay()
    return not any(_is_same(replay, each) for each in requests)


if __name__ == "__main__":
    {"record": record, "distil": distil}[sys.argv[1]](*sys.argv[2:])
