"""A node that answers from a world without a socket, and one behind a socket."""

import base64
import tempfile
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from pybroker.control import codec, spec
from pybroker.control.access import ActingUser
from pybroker.control.answers import end_lines, part_lines
from pybroker.control.execute import Executor, SendLines
from pybroker.control.spec import EX_LOGIN, Progress
from pybroker.core.events.cause import BROKER
from pybroker.errors import AmqpError
from pybroker.http.application import Application
from pybroker.http.door.access_log import AccessLog
from pybroker.http.door.server import Server
from pybroker.http.metrics.application import Application as MetricsApplication
from pybroker.http.node import Node, Refused
from pybroker.http.samples.samples import Samples
from pybroker.http.settings import Management
from tests.control.conftest import Operator
from tests.fakes import World

NOBODY = ActingUser("")


class FakeNode(Node):
    """The node as pybroker-web sees it, with a broker in this process behind it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.operator = Operator(world)
        self.executor = Executor(world.broker, self.operator.daemon, lambda _: world.run())
        self.asked: list[str] = []
        self.failure: Exception | None = None

    def answer(self, command, args, session, lines=(), *, progress=False, idle_s=None):
        """Yield the lines of an answer as they come over the socket."""
        self.asked.append(command)
        if self.failure is not None:
            raise self.failure
        user = NOBODY if session is None else self.operator.daemon.web_sessions.find(session)
        if user is None:
            raise Refused("the session has ended", EX_LOGIN)
        sent = [codec.decode(line) for line in lines][:-1] or iter([["shown"]])
        answer = self.executor.run(command, codec.decode(codec.encode(args)), user, sent)
        try:
            while True:
                try:
                    part = next(answer)
                except StopIteration as end:
                    yield from codec.decode_lines(end_lines(end.value))
                    return
                if isinstance(part, SendLines) or (isinstance(part, Progress) and not progress):
                    continue
                octets = part_lines(part)
                yield from codec.decode_lines(octets) if octets else ()
        except spec.Refused as refused:
            raise Refused(refused.text, refused.exit_code, refused.facts) from None
        except AmqpError as error:
            raise Refused(error.text, spec.EX_UNAVAILABLE, spec.reply_facts(error)) from None

    def refuse(self, text):
        self.failure = Refused(text, 69)


@pytest.fixture
def world():
    return World(node_name="pybroker@vm")


@pytest.fixture
def node(world):
    return FakeNode(world)


SETTINGS = Management("127.0.0.1", 15_672, 1_000_000, 480, (), 1_800, "", "127.0.0.1", 15_671, None)


class Api:
    """A client of the HTTP API on this machine; `user` is name and password in one."""

    def __init__(self, node: FakeNode, settings: Management = SETTINGS, address: str = "127.0.0.1") -> None:
        self.node = node
        self.samples = Samples(node, lambda: node.world.broker.clock.timestamp_ms)
        self.client = Client(Application(node, settings, self.samples))
        self.address = address

    def request(self, method: str, path: str, user: str | None = "guest", **more: Any) -> Any:
        headers = dict(more.pop("headers", {}))
        if user is not None:
            headers["Authorization"] = f"Basic {base64.b64encode(f'{user}:{user}'.encode()).decode()}"
        # The path as it is sent, which werkzeug's client would unquote.
        place, _, query = path.partition("?")
        base = {"REMOTE_ADDR": self.address, "REMOTE_PORT": "40000"}
        more.setdefault("base_url", "http://localhost:15672/")
        environ = {"PATH_INFO": place, "QUERY_STRING": query}
        return self.client.open(
            "/", method=method, headers=headers, environ_base=base, environ_overrides=environ, **more
        )

    def get(self, path: str, user: str | None = "guest", status: int = 200, **more: Any) -> Any:
        """Return the document that is answered with."""
        response = self.request("GET", path, user, **more)
        assert response.status_code == status, response.text
        return response.get_json()

    def send(self, method: str, path: str, document: Any = None, user: str | None = "guest", **more: Any) -> Any:
        """Return status and document of what a request with this body is answered with; None for no document."""
        body = {} if document is None else {"json": document}
        response = self.request(method, path, user, **body, **more)
        return response.status_code, response.get_json(silent=True)


NO_VHOST = (401, {"error": "not_authorised", "reason": "User not authorised to access virtual host"})
NOT_FOUND = (404, {"error": "Object Not Found", "reason": "Not Found"})
VHOST_NOT_FOUND = (404, {"error": "not_found", "reason": "vhost_not_found"})
DONE = (204, None)
MADE = (201, None)


def refused(text):
    """Return the answer to a user who lacks a permission, which the text names."""
    return 401, {"error": "not_authorised", "reason": "Access refused.", "reply_text": text}


def bad(reason: Any) -> tuple[int, dict[str, Any]]:
    """Return what a bad request is answered with."""
    return 400, {"error": "bad_request", "reason": reason}


@pytest.fixture
def api(node):
    return Api(node)


@pytest.fixture
def ann(world):
    """A user with the tag management, who may enter the virtual host `other` alone; and users named after tags."""
    world.broker.add_vhost("other", BROKER)
    users = world.broker.users
    users.add("ann", "ann", ("management",))
    users.set_permissions("ann", "other", ".*", ".*", ".*")
    for name in ("monitoring", "policymaker", "none"):
        users.add(name, name, () if name == "none" else (name,))
    return "ann"


@pytest.fixture
def peer(world):
    """A client with channel 1 open."""
    return world.connect()


@pytest.fixture
def folder():
    # pytest's own folders have names longer than a socket's path may be.
    with tempfile.TemporaryDirectory(prefix="web") as name:
        yield Path(name)


@pytest.fixture
def server(node):
    server = Server(("127.0.0.1", 0), MetricsApplication(node, 1_000), AccessLog(print))
    server.start()
    yield server
    server.stop()
