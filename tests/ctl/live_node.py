"""A daemon in a process of its own, in a folder of its own: what pybrokerctl talks to outside of tests."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pamqp import commands

from tests.daemon.fork_server import Forked
from tests.daemon.running import Running
from tests.interop.peer import Peer, frame

CTL = (sys.executable, "-m", "pybrokerctl")
NODE_NAME = "pybroker@test"
# queue.declare with nothing set but no-wait, and its empty arguments.
_DECLARE_HEAD, _DECLARE_TAIL = b"\0\x32\0\x0a\0\0", b"\x10\0\0\0\0"


def start(words: list[str], environment: dict[str, str], **options) -> subprocess.Popen:
    """Start a program; pybrokerctl is forked, unless its environment is about Python."""
    forked = tuple(words[:3]) == CTL and not any(name.startswith("PYTHON") for name in environment)
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    return (Forked if forked else subprocess.Popen)(words, env={**os.environ, **environment}, text=True, **given)


def run(words: list[str], environment: dict[str, str], **options) -> subprocess.CompletedProcess:
    """Run a program to its end; its exit code is for the test to judge."""
    timeout_s, text = options.pop("timeout", 60), options.pop("input", None)
    if text is not None:
        options["stdin"] = subprocess.PIPE
    with start(words, environment, **options) as process:
        try:
            out, err = process.communicate(text, timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


class LiveNode(Running):
    """One daemon and pybrokerctl as programs of their own, for they are what these tests are about.

    With `api_port` pybroker-web serves the HTTP API there, soon.
    """

    def __init__(self, folder: Path, data: str = "data", api_port: int = 0) -> None:
        self.name = NODE_NAME
        config = None
        if api_port:
            config = folder / "pybroker.conf"
            config.write_text(f"management.tcp.port = {api_port}\nprometheus.enabled = false\n")
        options = ["--port", "0", "--bind", "127.0.0.1", "--node", NODE_NAME, "--data-dir", str(folder / data)]
        options += ["--log", str(folder / f"{NODE_NAME}.log")]
        socket = folder / f"{NODE_NAME}.sock"
        web = bool(api_port)
        super().__init__(folder, *options, control_socket=socket, config=config, stderr=subprocess.STDOUT, web=web)
        assert self.serves, "the daemon did not start: " + "".join(self.said)

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables by which pybrokerctl finds it."""
        return {"PYBROKER_SOCKET": str(self.socket)}

    def ctl(self, *words: str, **options) -> subprocess.CompletedProcess:
        """Run pybrokerctl to its end."""
        return run([*CTL, *words], self.environment, **options)

    def start(self, words: list[str], environment: dict[str, str] | None = None, **options) -> subprocess.Popen:
        """Start a program that finds this node; the test ends it."""
        return start(words, {**self.environment, **(environment or {})}, **options)

    def wait_for(self, line: str, wanted: str) -> None:
        """Wait until pybrokerctl prints just that for a command line, ten seconds at most."""
        deadline = time.monotonic() + 60
        while (printed := self.ctl(*line.split()).stdout) != wanted:
            assert time.monotonic() < deadline, f"{line}: {printed!r} instead of {wanted!r}"

    def peer(self, *, timeout_s: float = 30) -> Peer:
        """Return a raw AMQP client that has shaken hands."""
        return Peer(("127.0.0.1", self.port), timeout_s=timeout_s).open()

    def declare_queues(self, names: list[str]) -> None:
        """Declare queues in one go, without waiting for each."""
        with self.peer(timeout_s=300) as peer:
            for at in range(0, len(names), 1_000):
                octets = [bytes([len(name)]) + name.encode() for name in names[at : at + 1_000]]
                peer.socket.sendall(b"".join(frame(1, 1, _DECLARE_HEAD + name + _DECLARE_TAIL) for name in octets))
            peer.close()

    def end(self) -> None:
        """Stop it by SIGTERM, even if it was stopped by SIGSTOP."""
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
        self.stop()

    def declare_streams(self, names: list[str], messages: int = 2) -> None:
        """Declare streams with some messages each, which are confirmed."""
        with self.peer() as peer:
            peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
            for name in names:
                declare = commands.Queue.Declare(queue=name, durable=True, arguments={"x-queue-type": "stream"})
                peer.call(declare, commands.Queue.DeclareOk)
                for number in range(messages):
                    peer.publish("", name, b"%d" % number)
            confirmed = 0
            while confirmed < len(names) * messages:
                confirmed = peer.expect(commands.Basic.Ack).delivery_tag
            peer.close()
