"""The daemon under faults: one data folder, lifetime after lifetime, each ended by whatever the test thinks of."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.daemon.running import BASE, Running


class Broker:
    """One data folder and the daemon that runs on it, if one does. `starts_s` says how long each start took."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.options = options
        self.starts_s: list[float] = []
        self.running: Running | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.process.port

    @property
    def process(self) -> Running:
        assert self.running is not None, "not started"
        return self.running

    @property
    def log(self) -> str:
        return "".join(path.read_text(errors="replace") for path in sorted((self.data / "log").glob("*.log")))

    def start(self) -> tuple[str, int]:
        """Start on the data folder and return the address; it serves when this returns."""
        began = time.monotonic()
        self.running = Running(self.folder, *BASE, *self.options)
        if not self.running.serves:
            code, stderr = self.running.ended()
            raise AssertionError(f"refused to start: {code} {stderr}")
        self.starts_s.append(time.monotonic() - began)
        return self.address

    def start_and_kill(self, after_s: float) -> None:
        """Start, and end it by signal 9 so soon that it may not even have read its data."""
        command = [sys.executable, "-m", "pybroker.daemon", "--no-web", *BASE, *self.options, "--config", os.devnull]
        command += ["--data-dir", str(self.data), "--socket", str(self.folder / "ctl.sock")]
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        time.sleep(after_s)
        process.kill()
        process.wait()

    def signal(self, number: int) -> None:
        self.process.signal(number)

    def kill(self) -> None:
        """End it as the kernel does, by signal 9."""
        self.signal(signal.SIGKILL)
        self.process.process.communicate()

    def stop(self) -> None:
        """End it in order; it says nothing and the exit code is 0."""
        ended = self.process.stop()
        assert ended == (0, ""), ended

    def clean_up(self) -> None:
        """End it whatever state it is in."""
        if self.running is not None and self.running.process.poll() is None:
            self.running.process.kill()
            self.running.process.communicate()

    def ctl(self, *words: str, expected: int = 0) -> str:
        return self.process.ctl(*words, expected=expected)
