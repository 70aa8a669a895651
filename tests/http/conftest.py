"""A node that answers from a world without a socket, and one behind a socket."""

import tempfile
from pathlib import Path

import pytest

from pybroker.control import codec
from pybroker.http.node import Refused
from tests.control.conftest import Operator
from tests.fakes import World


class FakeNode:
    """The node as pybroker-web sees it, with a broker in this process behind it."""

    def __init__(self, world: World) -> None:
        self.operator = Operator(world)
        self.asked: list[str] = []
        self.failure: Exception | None = None

    def ask(self, command, /, **args):
        self._note(command)
        return self.operator.ask(command, **args)

    def rows(self, command, /, **args):
        self._note(command)
        for batch in self.operator.stream(command, **args):
            yield from codec.decode(codec.encode(batch))

    def _note(self, command):
        self.asked.append(command)
        if self.failure is not None:
            raise self.failure

    def refuse(self, text):
        self.failure = Refused(text, 69)


@pytest.fixture
def world():
    return World(node_name="pybroker@vm")


@pytest.fixture
def node(world):
    return FakeNode(world)


@pytest.fixture
def peer(world):
    """A client with channel 1 open."""
    return world.connect()


@pytest.fixture
def folder():
    # pytest's own folders have names longer than a socket's path may be.
    with tempfile.TemporaryDirectory(prefix="web") as name:
        yield Path(name)
