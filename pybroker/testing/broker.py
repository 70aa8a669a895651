"""A broker for tests: the supervisor as a child of this process, and what can be asked of it and of the daemon."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Container, Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from pybroker.testing import control
from pybroker.testing.faults import Fault
from pybroker.testing.vhost import VirtualHost

END_S_MAX: Final = 10.0
# Of the log of a daemon that is gone, in an error.
TAIL_OCTETS: Final = 1_000


class BrokerError(Exception):
    """The broker does not start, does not run, or refuses what was asked of it."""


class Broker:
    """One broker, from `start` (or `with`) to `stop`.

    `config` has lines of pybroker.conf(5). `timeout_s` is how long its assertions wait by default. Threads may share
    it. Of a process that forked, the parent ends it.
    """

    def __init__(self, config: str = "", *, timeout_s: float = 5.0) -> None:
        self.timeout_s = timeout_s
        self._config = config
        self._facts: dict[str, Any] = {}
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._lock = threading.RLock()
        self._vhosts: dict[str, VirtualHost] = {}
        self._made = 0

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Broker {self._facts.get('uri', 'stopped')}>"

    # -- life ---------------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start it, or start it again after `kill` or `stop(keep=True)`, with its data; return when it is ready.

        Raises BrokerError.
        """
        with self._lock:
            if self._process is None:
                self._launch()
            else:
                self._facts = self._order("start", "refusing")
                for vhost in self._vhosts.values():
                    vhost.resume()
                self._order("accept")
        return self

    def revive(self) -> None:
        """Start it again if it is down, whoever ended it."""
        with self._lock:
            if not self.running:
                self.start()

    def _launch(self) -> None:
        command = [sys.executable, "-P", "-m", "pybroker.testing", "--json", "--parent", str(os.getpid())]
        with tempfile.TemporaryFile("w+") as complaints:
            # A session of its own: Ctrl-C is for the tests, which end the broker when they have ended.
            self._process = subprocess.Popen(  # noqa: S603 - our own
                [*command, "--config", self._config],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,
            )
            self._owner = os.getpid()
            line = _ends(self._process)[1].readline()
            if not line:
                self.stop()
                complaints.seek(0)
                raise BrokerError(complaints.read().strip() or "the broker did not start")
        self._facts = json.loads(line)

    def stop(self) -> None:
        """End it and remove its data."""
        with self._lock:
            process, self._process = self._process, None
            if process is None or self._owner != os.getpid():
                return
            with contextlib.suppress(OSError):
                # In words as well: a process that was forked from this one may hold the pipe open.
                _ends(process)[0].write("quit\n")
                _ends(process)[0].close()
            try:
                process.wait(END_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _ends(process)[1].close()
            if self._facts:
                # Only a supervisor that was killed has left anything.
                shutil.rmtree(self._facts["folder"], ignore_errors=True)
            self._facts = {}
            self._vhosts.clear()

    def _order(self, *words: object) -> Any:
        """Give the supervisor an order; return its answer. Raises BrokerError."""
        with self._lock:
            if self._process is None:
                raise BrokerError("the broker was not started, or is stopped")
            orders, answers = _ends(self._process)
            try:
                orders.write(f"{' '.join(map(str, words))}\n")
                orders.flush()
                line = answers.readline()
            except OSError:
                line = ""
            if not line:
                raise BrokerError("the broker's supervisor is gone: something killed it")
            answer = json.loads(line)
            if "error" in answer:
                raise BrokerError(answer["error"])
            return answer["ok"]

    @property
    def running(self) -> bool:
        """Tell whether the daemon runs."""
        return self._process is not None and bool(self._order("facts")["pid"])

    # -- where it is --------------------------------------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """Return the URI of the virtual host `/`, for the administrator guest."""
        return str(self._fact("uri"))

    @property
    def port(self) -> int:
        """Return the port for clients, which stays the same when the broker starts again."""
        return int(self._fact("port"))

    @property
    def direct_port(self) -> int:
        """Return the port of the daemon itself, which is another after each start; no fault is injected there."""
        return int(self._fact("direct_port"))

    @property
    def pid(self) -> int:
        """Return the process id of the daemon."""
        return int(self._fact("pid"))

    @property
    def socket(self) -> str:
        """Return the path of the control socket, for `pybrokerctl --socket`."""
        return str(self._fact("socket"))

    @property
    def folder(self) -> Path:
        """Return the temporary folder of data and log."""
        return Path(self._fact("folder"))

    @property
    def log(self) -> str:
        """Return the broker's log so far."""
        path = Path(self._fact("log"))
        return path.read_text(errors="replace") if path.exists() else ""

    def _fact(self, name: str) -> Any:
        if not self._facts:
            raise BrokerError("the broker was not started, or is stopped")
        return self._facts[name]

    # -- asking the daemon --------------------------------------------------------------------------------------------

    def request(self, command: str, /, *, document: Iterable[list[Any]] = (), **arguments: Any) -> Any:
        """Run a command of pybrokerctl, `list_queues` say; return a listing's rows as objects, else its value.

        Arguments, and lines of a document, are those of pybroker-control(7). Raises BrokerError.
        """
        try:
            return control.request(self.socket, command, document=document, **arguments)
        except control.Refused as error:
            raise BrokerError(f"{command}: {error}") from None
        except OSError as error:
            with contextlib.suppress(OSError):
                tail = self.log[-TAIL_OCTETS:]
                raise BrokerError(f"the broker is down ({error}); the end of its log:\n{tail}") from None
            raise

    def vhost(self, name: str = "vhost", *, unique: bool = False) -> VirtualHost:
        """Make a virtual host with a user of its own, to be closed by `with` or `close`. Raises BrokerError.

        With `unique` a number is appended to its name.
        """
        with self._lock:
            self._made += 1
            vhost = VirtualHost(self, f"{name}-{self._made}" if unique else name)
            self._vhosts[vhost.name] = vhost
        return vhost

    def forget(self, vhost: VirtualHost) -> None:
        """Drop a virtual host that is closed from those that come back with the broker."""
        self._vhosts.pop(vhost.name, None)

    # -- faults -------------------------------------------------------------------------------------------------------

    def drop_connections(self, ports: Container[int] | None = None) -> int:
        """Reset all connections of clients, as a failing network does; return how many there were.

        `ports` are the peer ports of those to reset, as list_connections has them.
        """
        if ports is None:
            return int(self._order("drop"))
        chosen = [row["peer_port"] for row in self.request("list_connections", columns=["peer_port"])]
        chosen = [port for port in chosen if port in ports]
        return int(self._order("drop", *chosen)) if chosen else 0

    def latency(self, seconds: float) -> Fault:
        """Delay everything between the clients and the broker by so much in each direction."""
        self._order("latency", seconds)
        return Fault(f"latency of {seconds:g} s", lambda: self._order("latency", 0))

    def refuse_connections(self) -> Fault:
        """Refuse new connections (ECONNREFUSED); those that there are go on."""
        self._order("refuse")
        return Fault("connections are refused", lambda: self._order("accept"))

    def block_publishers(self) -> Fault:
        """Raise the memory alarm: who publishes is not read any more, and gets connection.blocked."""
        before = self.request("status")["vm_memory_high_watermark_setting"]
        self.request("set_vm_memory_high_watermark", threshold="0")
        return Fault("publishers are blocked", lambda: self._unblock(before))

    def _unblock(self, before: dict[str, Any]) -> None:
        if not self.running:
            return  # it starts again with the limit of its configuration
        if "relative" in before:
            self.request("set_vm_memory_high_watermark", threshold=str(before["relative"]))
        else:
            self.request("set_vm_memory_high_watermark", threshold="absolute", value=str(before["absolute"]))

    def kill(self) -> Fault:
        """Kill the broker as kill -9 does. Ending the fault, or `start`, starts it again with the data that it kept."""
        for vhost in self._vhosts.values():
            vhost.collect()
        self._order("kill")
        return Fault("the broker is killed", self.start)

    def shut_down(self) -> Fault:
        """Stop the broker in order. Ending the fault, or `start`, starts it again with its data."""
        for vhost in self._vhosts.values():
            vhost.collect()
        self._order("stop")
        return Fault("the broker is shut down", self.start)

    def restart(self) -> None:
        """Kill the broker and start it again at once."""
        self.kill().end()


def _ends(process: "subprocess.Popen[str]") -> tuple[IO[str], IO[str]]:
    """Return both pipes of the supervisor: orders, answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout
