"""The daemon as a process: started with a folder of its own, known by its first screen, and ended whatever happens."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

WAIT_S = 20.0


class Running:
    """One daemon; `places` are the `label: value` lines of the first screen, by label."""

    def __init__(self, folder: Path, *options: str, control_socket=None, environ=None) -> None:
        self.folder = folder
        self.socket = control_socket or folder / "ctl.sock"
        base = ["--port", "0", "--bind", "127.0.0.1", "--node", "test@here"] if not options else list(options)
        command = [sys.executable, "-m", "pybroker.daemon", *base]
        command += ["--data-dir", str(folder / "data"), "--socket", str(self.socket)]
        command += [] if "--config" in options else ["--config", os.devnull]
        environ = {**os.environ, **(environ or {})}
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
        )
        self.pid = self.process.pid
        self.places: dict[str, list[str]] = {}
        for line in self.process.stdout:
            label, _, value = line.rstrip("\n").partition(": ")
            self.places.setdefault(label, []).append(value)
            if label == "next":
                break

    @property
    def port(self) -> int:
        return int(self.places["AMQP listener"][0].rpartition(":")[2])

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
        """Run pybrokerctl on this daemon; return all it wrote."""
        command = [sys.executable, "-m", "pybrokerctl", "--socket", str(self.socket), *words]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=WAIT_S, check=False
        )
        assert done.returncode == expected, done.stdout
        return done.stdout

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
        return self.process.returncode, stderr

    def stop(self) -> tuple[int, str]:
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.ended()
