"""The daemon as a child of the supervisor: started, known by its first screen, killed, and dead when its parent is."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
NODE: Final = "testing@localhost"
# A start with the data of a test takes a second; a machine that is busy may need more.
START_S_MAX: Final = 60.0
STOP_S_MAX: Final = 30.0
# Of the output of a daemon that did not start, what is shown.
TAIL_OCTETS: Final = 2_000
# prctl(2).
PR_SET_PDEATHSIG: Final = 1

# Passwords of tests are no secrets, and Argon2id would take 20 ms for each.
CONFIG: Final = """password_hashing_module = rabbit_password_hashing_sha256
telemetry.enabled = false
"""


class StartFailed(Exception):
    """The daemon did not start; the text says why."""


class DaemonProcess:
    """One daemon at a time, always on the same data; `port` is that of its AMQP listener, another after each start."""

    def __init__(self, folder: Path, config: str) -> None:
        self.socket = folder / "control.sock"
        self.log = folder / "data" / "log" / f"{NODE}.log"
        self.port = 0
        self._folder = folder
        self._output = folder / "output.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._prctl = ctypes.CDLL(None).prctl
        (folder / "pybroker.conf").write_text(CONFIG)
        (folder / "conf.d").mkdir()
        # A file of its own: a key may be set twice, the last one counts.
        (folder / "conf.d" / "given.conf").write_text(config)

    @property
    def pid(self) -> int:
        """Return the process id; 0 while it is down, whoever ended it."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def spawn(self) -> None:
        """Start the process; `wait_until_ready` must follow."""
        self.kill()
        command = [sys.executable, "-P", "-m", "pybroker.daemon", "--no-web"]
        command += ["--port", "0", "--bind", HOST, "--node", NODE]
        command += ["--data-dir", str(self._folder / "data"), "--socket", str(self.socket)]
        command += ["--config", str(self._folder / "pybroker.conf")]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
                preexec_fn=self._die_with_parent,  # noqa: PLW1509 - the supervisor has one thread
            )

    def wait_until_ready(self) -> None:
        """Read the first screen to its end. Raises StartFailed."""
        assert self._process is not None
        assert self._process.stdout is not None
        source = self._process.stdout.fileno()
        text, deadline = b"", time.monotonic() + START_S_MAX
        while b"\nnext: " not in text:
            left = deadline - time.monotonic()
            ready = select.select([source], [], [], max(0.0, left))[0]
            octets = os.read(source, 65_536) if ready else b""
            if not octets:
                self.kill()
                said = (text + self._output.read_bytes())[-TAIL_OCTETS:].decode(errors="replace").strip()
                reason = "the broker did not start" if ready else f"the broker was not ready after {START_S_MAX:g} s"
                raise StartFailed(f"{reason}: {said}")
            text += octets
        places = dict(line.partition(": ")[::2] for line in text.decode().splitlines())
        self.port = int(places["AMQP listener"].rpartition(":")[2])

    def kill(self) -> None:
        """End it as kill -9 does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with process:
            process.send_signal(number)
            try:
                process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()

    def _die_with_parent(self) -> None:
        self._prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
