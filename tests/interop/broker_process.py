"""The installed daemon as a subprocess on a free port, as a client meets it.

With INTEROP_BROKER=HOST:PORT:PID in the environment that broker is used instead: the same tests tell what RabbitMQ
does.
"""

import os
from pathlib import Path

import pika
import psutil

from tests.daemon.running import Running
from tests.interop.peer import Peer


class BrokerProcess(Running):
    """One running broker: where it listens, its process, its log."""

    def __init__(self, folder: Path, *, config: str = "", options: tuple[str, ...] = ()) -> None:
        self.host, self.elsewhere = "127.0.0.1", 0
        given = os.environ.get("INTEROP_BROKER")
        if given:
            self.host, port, pid = given.split(":")
            self.elsewhere, self.pid, self.process = int(port), int(pid), None
            return
        folder.mkdir(parents=True, exist_ok=True)
        config_path, self.output = folder / "pybroker.conf", folder / "output.log"
        config_path.write_text(f"{config}\nstream.listeners.tcp.interop = {self.host}:0\n")
        base = ["--port", "0", "--bind", self.host, "--node", "interop@localhost", "--config", str(config_path)]
        with self.output.open("wb") as output:
            super().__init__(folder, *base, *options, stderr=output)
        assert self.serves, self.log

    @property
    def port(self) -> int:
        return self.elsewhere or super().port

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

    def rss_octets(self) -> int:
        """Return the resident set."""
        return psutil.Process(self.pid).memory_info().rss

    def cpu_ns(self) -> int:
        """Return the main thread's time on a CPU so far, in nanoseconds."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0])

    @property
    def log(self) -> str:
        """All that the daemon has written: to standard error, and to its log files."""
        files = [self.output, *sorted(self.folder.rglob("*@*.log"))] if self.is_ours else []
        return "".join(file.read_text(errors="replace") for file in files if file.exists())

    def stop(self) -> tuple[int, str]:
        """End it in order, if it is ours; return the exit code and what stood on standard error."""
        return super().stop() if self.is_ours else (0, "")
