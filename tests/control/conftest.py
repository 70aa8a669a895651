from typing import Any

import pytest
from fakes import World

from pybroker.control import codec, commands
from pybroker.control.spec import Node


class FakeDaemon:
    """A controller that remembers what it was asked for."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.app_running = True
        self.asked: list[str] = []

    def stop(self) -> None:
        self.asked.append("stop")

    def stop_app(self) -> None:
        self.asked.append("stop_app")
        self.app_running = False

    def start_app(self) -> None:
        self.asked.append("start_app")
        self.app_running = True

    def reset(self) -> None:
        self.asked.append("reset")
        self.world.broker.reset()


class Operator:
    """Runs commands as the server does, through JSON both ways, without a socket."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.daemon = FakeDaemon(world)
        self.pauses: list[float] = []

    def ask(self, name: str, **given: Any) -> Any:
        """Return the value that a command answers; None for plain success."""
        command = commands.load(name)
        args = command.parse(codec.decode(codec.encode(given)))
        result = command.run(Node(self.world.broker, self.daemon, self.pauses.append), args)
        self.world.run()
        return codec.decode(codec.encode(result))

    def list(self, name: str, *columns: str, **given: Any) -> list[Any]:
        """Return a listing's rows; of one column the bare values."""
        command = commands.load(name)
        args = command.parse(codec.decode(codec.encode({"columns": columns, **given} if columns else given)))
        chosen = command.chosen(args)
        rows = [
            codec.decode(codec.encode([codec.table_triples(c.read(noun)) if c.table else c.read(noun) for c in chosen]))
            for noun in command.run(Node(self.world.broker, self.daemon, self.pauses.append), args)
        ]
        return [row[0] for row in rows] if len(chosen) == 1 else rows


@pytest.fixture
def world() -> World:
    return World(node_name="pybroker@vm")


@pytest.fixture
def operator(world: World) -> Operator:
    return Operator(world)


@pytest.fixture
def peer(world: World) -> Any:
    """A client with channel 1 open."""
    return world.connect()
