"""Replay of a recording: the requests of a client, in order, to the HTTP API with a broker in this process behind it.

A recording is a file of JSON lines. Each is a request: `method`, `path`, `body` if there is one, `user` if it is not
guest; and the answer: its `status`, and in `reads` the members that the client knows of it, by their type, with dots
between the names of those inside each other. Of a list they are the members of all its objects together. In a path,
{connection} is the name of a connection that is open.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.fakes import World
from tests.http.conftest import Api, FakeNode

CONNECTION = "{connection}"
QUICK = "rabbit_password_hashing_sha256"
TYPES = {bool: "flags", int: "numbers", float: "numbers", str: "texts", list: "lists", dict: "objects"}
GUEST = "guest:guest"
# A rate of a queue in a page is that deep.
DEPTH = 3
# Members that are not followed further: their own are names that users gave, or arguments.
LEAVES = frozenset({"arguments", "definition", "effective_policy_definition", "value", "client_properties", "headers"})


class Request(NamedTuple):
    """One line of a recording."""

    method: str
    path: str
    status: int
    user: str = GUEST
    body: Any = None
    reads: Mapping[str, str] = {}

    @classmethod
    def of(cls, line: str) -> "Request":
        """Return the request of a line."""
        return cls(**json.loads(line))

    def line(self) -> str:
        """Return the line of a request."""
        found = {name: value for name, value in self._asdict().items() if value != self._field_defaults.get(name)}
        return json.dumps(found, ensure_ascii=False)


def requests_of(path: Path) -> list[Request]:
    """Return the requests of a recording."""
    return [Request.of(line) for line in path.read_text().splitlines()]


class Replay:
    """A broker of its own, with a connection, a channel, a consumer and some traffic, and the answers that it gives."""

    def __init__(self) -> None:
        self.world = World(node_name="rabbit@vm", password_hashing=QUICK)
        self.api = Api(FakeNode(self.world))
        self._connect()

    def answer(self, request: Request) -> tuple[int, Any]:
        """Return status and document of what a request is answered with now."""
        path = request.path.replace(CONNECTION, self.connection)
        body = {} if request.body is None else {"json": request.body}
        if isinstance(request.body, str):
            body = {"data": request.body}
        headers = {"Authorization": f"Basic {b64encode(request.user.encode()).decode()}"} if request.user else {}
        response = self.api.request(request.method, path, None, headers=headers, **body)
        if request.method == "DELETE" and path.startswith("/api/connections"):
            self._connect()
        return response.status_code, response.get_json(silent=True)

    def _connect(self) -> None:
        peer = self.world.connect()
        queue = peer.declare("").queue
        for _ in range(2):
            peer.publish("", queue, b"x")
            peer.get(queue)
        peer.consume(queue)
        self.connection = quote(list(self.world.broker.sessions.values())[-1].name, safe="")


def members(document: Any, words: "frozenset[str] | None" = None) -> dict[str, set[str]]:
    """Return the members of a document by type: those of a client's words, or all. Of some the type is not known."""
    found: dict[str, set[str]] = {}
    for name, value in _members(document):
        if words is None or name.rpartition(".")[2] in words:
            found.setdefault(TYPES.get(type(value), "unknown"), set()).add(name)
    return found


def _members(document: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(document, list):
        for each in document:
            yield from _members(each, prefix)
    if isinstance(document, dict):
        for name, value in document.items():
            yield prefix + name, value
            if name not in LEAVES and prefix.count(".") < DEPTH:
                yield from _members(value, f"{prefix}{name}.")


def missing(request: Request, document: Any) -> list[str]:
    """Return the members that a client reads and that an answer lacks, or has with another type."""
    there = members(document)
    known = {name for names in there.values() for name in names}
    lacking = []
    for kind, names in request.reads.items():
        for name in names.split():
            is_there = name in there.get(kind, ()) or name in there.get("unknown", ())
            if not is_there and not (kind == "unknown" and name in known):
                lacking.append(f"{name} ({kind})")
    return lacking
