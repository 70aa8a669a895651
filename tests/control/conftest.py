import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from pybroker.control import codec, commands
from pybroker.control.access import ADMINISTRATOR, ActingUser
from pybroker.control.server import ControlServer
from pybroker.control.spec import AwaitShown, Changed, Command, Node, Progress
from pybroker.control.web_sessions import WebSessions
from pybroker.core.events.cause import BROKER, COMMAND_USER, Cause
from pybroker.core.resources.alarm import DISK, MEMORY
from pybroker.daemon.config.difference import Change
from pybroker.humanize import size
from pybroker.net.listener import Listener
from tests.fakes import World

OPERATOR = ActingUser(COMMAND_USER, (ADMINISTRATOR,))


class OpenListener(Listener):
    """Nothing listens behind it. Port 0: the interface is a path."""

    def __init__(self, interface: str, port: int) -> None:
        self.protocol, self.interface, self.port = "amqp", interface, port
        self.path = interface if not port else ""


class FakeConfiguration:
    """A configuration that remembers what it was asked for."""

    def __init__(self, asked: list[str]) -> None:
        self.asked = asked

    def reload(self, cause: Cause) -> dict[str, Any]:
        self.asked.append(f"reload by {cause.why}")
        return {"changed": ["heartbeat"], "message": "done"}

    def explain(self, key: str) -> dict[str, Any]:
        return {"key": key, "message": "60"}

    def difference(self, *, everything: bool) -> list[Change]:
        self.asked.append("difference" + " of everything" * everything)
        return [Change("heartbeat", "60", "20", "default", "/etc/pybroker/pybroker.conf:3", "reload")]


class FakeDaemon:
    """A controller that remembers what it was asked for."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.app_running = True
        self.recovering = None
        self.asked: list[str] = []
        self.configuration = FakeConfiguration(self.asked)
        self.memory = (100_000_000, 20_000_000, 5_000_000)
        self.unreachable = ""
        self.disk_free = 1 << 30
        self.audited: list[bytes] = []
        self.certificate_files: tuple[Any, ...] = ()
        self.tls_versions = ("tlsv1.2", "tlsv1.3")
        self.web_settings = {
            "prometheus": {"host": "127.0.0.1", "port": 15_692, "series_max": 1_000},
            "management": None,
            "access_log": "",
        }
        self.web_sessions = WebSessions(world.broker)

    def stop(self) -> None:
        self.asked.append("stop")

    def stop_app(self) -> None:
        self.asked.append("stop_app")
        self.app_running = False

    def start_app(self) -> None:
        self.asked.append("start_app")
        self.app_running = True

    def reset(self, cause: Cause) -> int:
        self.asked.append("reset")
        return self.world.broker.reset(cause)

    @property
    def sockets_max(self) -> int:
        return 900

    def suspend_listeners(self) -> None:
        self.asked.append("suspend_listeners")

    def resume_listeners(self) -> None:
        self.asked.append("resume_listeners")

    def reopen_log(self) -> None:
        self.asked.append("reopen_log")

    @contextmanager
    def follow_log(self) -> Iterator[Any]:
        lines = ["one line", "another line"]
        yield lambda most: [lines.pop(0) for _ in range(min(most, len(lines)))]
        self.asked.append("log let go")

    def environment(self) -> list[tuple[str, str, str]]:
        return [("heartbeat", "60", "default"), ("channel_max", "10", "/etc/pybroker/pybroker.conf:3")]

    def log_tail(self, count: int) -> list[str]:
        self.asked.append(f"log_tail {count}")
        return ["one line", "another line"]

    def audit_lines(self, pause: Any) -> Iterator[bytes]:
        return reversed(self.audited)

    def set_log_level(self, level: str) -> None:
        self.asked.append(f"set_log_level {level}")

    def measure_memory(self) -> None:
        self.asked.append("measure_memory")

    def check_alarms(self) -> None:
        """Do what the monitors do, with the figures that a test has set in `watermarks.measured`."""
        self.asked.append("check_alarms")
        marks, alarms = self.world.broker.settings.watermarks, self.world.broker.alarms
        used, limit = marks.measured.used, marks.memory_limit_octets
        if used > limit:
            alarms.set(MEMORY, f"{size(used)} used, {size(limit)} allowed")
        else:
            alarms.clear(MEMORY)
        free, limit = marks.measured.disk_free, marks.disk_limit_octets
        if free is not None and free < limit:
            alarms.set(DISK, f"{size(free)} free, {size(limit)} required")
        else:
            alarms.clear(DISK)

    def watch_disk(self, *, on: bool) -> None:
        self.asked.append(f"watch_disk {on}")
        self.world.broker.settings.watermarks.measured.disk_free = self.disk_free if on else None
        self.check_alarms()

    def resident_set(self) -> tuple[int, int, int]:
        return self.memory

    def telemetry_figures(self) -> dict[str, Any]:
        return {"interval_ms": 10_000, "rows": 3, "octets": 600, "dropped": 0}

    def log_status(self) -> dict[str, Any]:
        return {"state": "running", "segment_count": 0}

    def hold_log(self, pause: Any) -> Generator[Progress, None, None]:
        self.asked.append("hold_log")
        pause(0.2)
        yield Progress(0, 0)
        self.asked.append("let go")

    def why_unreachable(self, host: str, port: int, timeout_s: float) -> str:
        self.asked.append(f"connect {host} {port}")
        return self.unreachable


class FakeTool:
    """A tool that remembers what it was asked for, and does one step for it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def work(*given: Any) -> Generator[Progress, None, dict[str, Any]]:
            self.asked.append((name, *given))
            yield Progress(1, 2)
            return {"message": "done"}

        return work


class Operator:
    """Runs commands as the server does, through JSON both ways, without a socket."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.daemon = FakeDaemon(world)
        self.tool = FakeTool()
        self.lines: list[Any] = []
        self.pauses: list[float] = []
        self.steps: list[Progress] = []

    def ask(self, name: str, /, **given: Any) -> Any:
        """Return the value that a command answers; None for plain success."""
        command = commands.load(name)
        args = command.parse(codec.decode(codec.encode(given)))
        result = command.run(self._node(), args)
        if isinstance(result, Generator):
            result = self.finish(result)
        self.world.run()
        if isinstance(result, Changed):
            result = result.value
        return codec.decode(codec.encode(result))

    def stream(self, name: str, user: ActingUser | None = None, /, **given: Any) -> Iterator[list[Any]]:
        """Return what a command streams, batch by batch, on behalf of a user; without one, of an operator."""
        command = commands.load(name)
        args = command.parse(codec.decode(codec.encode(given)))
        user = OPERATOR if user is None else user
        node = self._node()._replace(user=user, pause=self._pause, lines=repeat(["shown"]))
        return (codec.decode(codec.encode(batch)) for batch in command.run(node, args) if batch != AwaitShown())

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.world.run()

    def _node(self) -> Node:
        lines = iter([codec.decode(codec.encode(line)) for line in self.lines])
        return Node(self.world.broker, self.daemon, self.pauses.append, BROKER, self.tool, lines, OPERATOR)

    def finish(self, work: Generator[Progress, None, Any]) -> Any:
        """Do long work to its end; return its answer, keep its steps."""
        self.steps.clear()
        while True:
            try:
                self.steps.append(next(work))
            except StopIteration as end:
                return end.value

    def listen(self, *places: tuple[str, int]) -> None:
        """Have the node listen on (interface, port), or (path, 0)."""
        self.world.broker.listeners += [OpenListener(*place) for place in places]

    def list(self, name: str, /, *columns: str, **given: Any) -> list[Any]:
        """Return a listing's rows; of one column the bare values."""
        command = commands.load(name)
        args = command.parse(codec.decode(codec.encode({"columns": columns, **given} if columns else given)))
        chosen = command.chosen(args)
        rows = [
            codec.decode(codec.encode([codec.table_triples(c.read(noun)) if c.table else c.read(noun) for c in chosen]))
            for noun in command.run(self._node(), args)
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


@pytest.fixture
def folder():
    # pytest's own folders have names longer than a socket's path may be.
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        yield Path(name)


@pytest.fixture
def server(operator, folder):
    server = ControlServer(operator.world.broker, folder / "c.sock", operator.daemon)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def add(monkeypatch):
    """Put a command into the table, for one test."""

    def add(command: Command) -> None:
        load = commands.load
        monkeypatch.setattr(commands, "KNOWN", {*commands.KNOWN, command.name})
        monkeypatch.setattr(commands, "load", lambda name: command if name == command.name else load(name))

    return add
