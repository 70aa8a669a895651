"""A command that takes lines behind its request: what the node does with them, and with what is none."""

import tempfile
from pathlib import Path

import pytest
from gevent import socket

from pybroker.control import codec, server as server_module
from pybroker.control.server import ControlServer

QUEUE = {"name": "q", "vhost": "/"}


class Caller:
    """Somebody who imports definitions."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")
        self.lines(1)

    def lines(self, count: int = 100):
        """Return the next lines' values, up to the end."""
        found = []
        while len(found) < count and (line := self.file.readline()):
            found.append(codec.decode(line))
        return found

    def ask(self, *lines: bytes, command: str = "import_definitions"):
        """Ask, send the lines, and return all that comes until the node is gone."""
        self.socket.sendall(codec.encode_request(command, {}) + b"".join(lines))
        return self.lines()


@pytest.fixture
def caller(operator):
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        server = ControlServer(operator.world.broker, Path(name) / "c.sock", operator.daemon)
        server.start()
        yield Caller(server.path)
        server.stop()


def test_the_node_asks_for_lines_answers_and_goes(operator, caller):
    asked, answer, end = caller.ask(codec.encode(["queues", [QUEUE]]), b'{"end":1}\n')
    assert ({"send": "lines"}, {"end": 0}) == (asked, end)
    assert "Definitions imported: 1 created" == answer["value"]["message"]
    assert ["q"] == list(operator.world.vhost.queues)


def test_rows_may_come_of_lines(caller):
    lines = caller.ask(codec.encode(["queues", [QUEUE]]), b'{"end":1}\n', command="definitions_plan")
    assert [{"send": "lines"}, ["create", "queues", "/", "q", "", None, None], {"end": 1}] == [lines[0], *lines[2:]]


@pytest.mark.parametrize(
    ("line", "text", "code"),
    [
        (b"nonsense\n", "Expecting value", 64),
        (b'{"end":2}\n', "a line of a document must be a list of a section's name and its items", 65),
        (b"[" + b" " * codec.REQUEST_OCTETS_MAX + b"]\n", "the document is too large", 65),
    ],
)
def test_what_cannot_be_read_changes_nothing(operator, caller, line, text, code):
    _, refused = caller.ask(codec.encode(["queues", [QUEUE]]), line, b'{"end":2}\n')
    assert (code, True) == (refused["error"]["exit_code"], text in refused["error"]["text"])
    assert {} == operator.world.vhost.queues


def test_a_document_has_an_end(monkeypatch, operator, caller):
    monkeypatch.setattr(server_module.codec, "DOCUMENT_OCTETS_MAX", 100)
    _, refused = caller.ask(*[codec.encode(["queues", [QUEUE]])] * 5)
    assert (
        "the document is too large: a line may have 1048576 octets, all lines together 100" == refused["error"]["text"]
    )
    assert {} == operator.world.vhost.queues


def test_who_goes_in_the_midst_has_changed_nothing(operator, caller):
    caller.socket.sendall(codec.encode_request("import_definitions", {}) + codec.encode(["queues", [QUEUE]]))
    caller.socket.shutdown(socket.SHUT_WR)
    assert (
        "the lines after a request must end with an object that contains their number"
        in caller.lines()[-1]["error"]["text"]
    )
    assert {} == operator.world.vhost.queues
