"""The daemon as a process: started with a folder of its own, known by its first screen, and ended whatever happens."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from pybrokerctl.main import main
from tests.daemon.fork_server import Forked

WAIT_S = 60.0
BASE = ("--port", "0", "--bind", "127.0.0.1", "--node", "test@here")


class Running:
    """One daemon; `places` are the `label: value` lines of the first screen, by label. It has what it needs in options,
    or is given BASE; `folder` holds its data folder and its control socket. Without a `config` it looks for one.

    It is forked from a process that has loaded its modules, but for a `program` or one with an `environ` of its own.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        control_socket: Path | None = None,
        config: Path | None = Path(os.devnull),
        environ: dict[str, str] | None = None,
        stderr: int | IO[bytes] = subprocess.PIPE,
        web: bool = False,
        program: bool = False,
    ) -> None:
        self.folder = folder
        self.socket = control_socket or folder / "ctl.sock"
        command = [sys.executable, "-m", "pybroker.daemon", "--web" if web else "--no-web"]
        command += ["--data-dir", str(folder / "data"), "--socket", str(self.socket)]
        command += ["--config", str(config)] if config else []
        self.process = (subprocess.Popen if program or environ else Forked)(
            [*command, *(options or BASE)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**os.environ, **(environ or {})},
        )
        self.pid = self.process.pid
        self.places: dict[str, list[str]] = {}
        self.said: list[str] = []
        for line in self.process.stdout:
            self.said.append(line)
            label, _, value = line.rstrip("\n").partition(": ")
            self.places.setdefault(label, []).append(value)
            if label == "next":
                break

    @property
    def serves(self) -> bool:
        """Whether it came as far as its first screen."""
        return "next" in self.places

    @property
    def port(self) -> int:
        return int(self.places["AMQP listener"][0].rpartition(":")[2])

    @property
    def tls_port(self) -> int:
        return int(self.places["AMQP over TLS listener"][0].rpartition(":")[2])

    @property
    def log(self) -> str:
        paths = (self.folder / "data" / "log").glob("*.log")
        return "".join(path.read_text() for path in paths if not path.name.endswith("-audit.log"))

    def wait_for_log(self, text: str) -> None:
        """Wait until the log contains a text: some lines are written behind an answer."""
        deadline = time.monotonic() + WAIT_S
        while text not in self.log:
            assert time.monotonic() < deadline, f"no {text!r} in: {self.log}"
            time.sleep(0.05)

    def ctl(self, *words: str, expected: int = 0) -> str:
        """Run pybrokerctl on this daemon, without a process of its own; return all it wrote."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = main(["--socket", str(self.socket), *words])
        assert code == expected, output.getvalue()
        return output.getvalue()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and what stood on standard error."""
        try:
            _, stderr = self.process.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode, stderr or ""

    def stop(self) -> tuple[int, str]:
        """End it in order; return the exit code and what stood on standard error."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.ended()
