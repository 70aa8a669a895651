"""A daemon for pybrokerctl that answers from a script, in a thread; and one that is real, in a process."""

import contextlib
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pybroker.control import codec
from pybrokerctl.main import main

GREETING = {"node": "pybroker@vm", "version": "0.1.0", "protocol": 1}


class Outcome(NamedTuple):
    """The result of a call."""

    code: int
    out: str
    err: str


class ScriptedDaemon:
    """Greets, keeps the requests, answers with `lines` (values or raw octets) and then closes, or keeps silent."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pybroker@vm.sock"
        self.greeting: Any = GREETING
        self.lines: list[Any] = [{"value": None}, {"end": 0}]
        # The answer to each of these commands; the conversation then goes on.
        self.answers: dict[str, Iterable[Any]] = {}
        self.silent = False
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._end = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._end.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            # Somebody who only tries whether anybody answers is gone by the first word.
            with peer, contextlib.suppress(OSError):
                self._answer(peer)

    def _answer(self, peer: socket.socket) -> None:
        peer.sendall(_octets(self.greeting))
        for line in peer.makefile("rb"):
            self.requests.append(codec.decode_request(line)[:2])
            if self.requests[-1][0] not in self.answers:
                break
            for answer in self.answers[self.requests[-1][0]]:
                peer.sendall(_octets(answer))
        else:
            return
        if self.silent:
            self._end.wait(10)
            return
        for answer in self.lines:
            peer.sendall(_octets(answer))


class Turns:
    """A daemon's answers: the next of `answers` at each question, then the last one for ever."""

    def __init__(self, *answers: list[Any]) -> None:
        self.answers = list(answers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.answers.pop(0) if self.answers[1:] else self.answers[0])


def _octets(value: Any) -> bytes:
    return value if isinstance(value, bytes) else codec.encode(value)


@pytest.fixture
def folder() -> Iterator[Path]:
    # pytest's own folders have names longer than a socket's path may be.
    with tempfile.TemporaryDirectory(prefix="ctl") as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def nothing_runs_here(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Look for nodes in an empty folder only, on a host called vm."""
    monkeypatch.delenv("PYBROKER_SOCKET", raising=False)
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(folder))
    monkeypatch.setattr("pybroker.paths.SYSTEM_RUNTIME_DIR", folder)
    monkeypatch.setattr(socket, "gethostname", lambda: "vm.example.org")


@pytest.fixture
def daemon(folder: Path) -> Iterator[ScriptedDaemon]:
    daemon = ScriptedDaemon(folder)
    yield daemon
    daemon.close()


@pytest.fixture
def turns() -> type[Turns]:
    return Turns


@pytest.fixture
def start_daemon(folder: Path) -> Iterator[Callable[[], None]]:
    """Start the daemon when it is called, not before."""
    started: list[ScriptedDaemon] = []
    yield lambda: started.append(ScriptedDaemon(folder))
    for daemon in started:
        daemon.close()


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let every stream be a terminal of 80 columns with colours."""
    monkeypatch.setattr("pybrokerctl.terminal.terminal.is_terminal", lambda _stream: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return monkeypatch


@pytest.fixture
def ctl(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run pybrokerctl in this process."""

    def run(*words: str) -> Outcome:
        capfd.readouterr()
        code = main(words)
        return Outcome(code, *capfd.readouterr())

    return run
