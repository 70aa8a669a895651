"""The installed daemon as a subprocess on a free port, as a client meets it.

With INTEROP_BROKER=HOST:PORT:PID in the environment that broker is used instead: the same tests tell what RabbitMQ
does.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pika
import psutil
from interop.peer import Peer

START_S = 15.0


class BrokerProcess:
    """One running broker: where it listens, its process, its log."""

    def __init__(self, folder: Path, *, config: str = "", options: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.socket_path = folder / "ctl.sock"
        self.output = folder / "output.log"
        self.process: subprocess.Popen[bytes] | None = None
        given = os.environ.get("INTEROP_BROKER")
        if given:
            self.host, port, pid = given.split(":")
            self.port, self.pid = int(port), int(pid)
            return
        self.host = "127.0.0.1"
        self.process = self._start(config, options)
        self.pid = self.process.pid
        self.port = self._wait_listening()

    @property
    def is_ours(self) -> bool:
        """False when INTEROP_BROKER named another broker."""
        return self.process is not None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port, as `socket` wants them."""
        return self.host, self.port

    def peer(self, **options: int) -> Peer:
        """Return a raw client that has shaken hands."""
        return Peer(self.address).open(**options)

    def pika(self, **parameters: object) -> pika.BlockingConnection:
        """Return a pika connection."""
        return pika.BlockingConnection(pika.ConnectionParameters(self.host, self.port, **parameters))

    def ctl(self, *arguments: str) -> str:
        """Run pybrokerctl against this daemon and return what it prints."""
        command = [sys.executable, "-m", "pybrokerctl", "--socket", str(self.socket_path), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout

    def rss_octets(self) -> int:
        """Return the resident set."""
        return psutil.Process(self.pid).memory_info().rss

    def cpu_ns(self) -> int:
        """Return the main thread's time on a CPU so far, in nanoseconds."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0])

    def log(self) -> str:
        """Return all that the daemon has written: its output and its log files."""
        files = [self.output, *sorted(self.folder.rglob("*@*.log"))]
        return "".join(file.read_text(errors="replace") for file in files if file.exists())

    def stop(self) -> int:
        """Stop by SIGTERM and return the exit status."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def _start(self, config: str, options: tuple[str, ...]) -> subprocess.Popen[bytes]:
        self.folder.mkdir(parents=True, exist_ok=True)
        config_path = self.folder / "pybroker.conf"
        config_path.write_text(config)
        command = [sys.executable, "-m", "pybroker.daemon", "--port", "0", "--bind", self.host]
        command += ["--node", "interop@localhost", "--data-dir", str(self.folder / "data")]
        command += ["--socket", str(self.socket_path), "--config", str(config_path), *options]
        with self.output.open("wb") as output:
            return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def _wait_listening(self) -> int:
        process = psutil.Process(self.pid)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            assert self.process is not None
            assert self.process.poll() is None, self.log()
            listening = [c.laddr for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
            if listening and _answers(listening[0].port):
                return int(listening[0].port)
            time.sleep(0.02)
        self.process.kill()
        raise AssertionError(f"not listening after {START_S} s: {self.log()}")


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
