"""The supervisor: starts the daemon, prints the URI, obeys the lines of its standard input, and leaves nothing behind.

It ends when its input closes, when the process that asked for it is gone, or by a signal; then the daemon is killed and
the folder removed. The kernel kills the daemon if the supervisor itself is killed.

Each line is one order in plain words (`ORDERS`), each answer one line of JSON: `{"ok": VALUE}` or `{"error": TEXT}`.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pybroker.testing.daemon_process import HOST, DaemonProcess, StartFailed
from pybroker.version import VERSION

if TYPE_CHECKING:
    import asyncio

    from pybroker.testing.proxy import Proxy

PREFIX: Final = "pybroker-testing-"
# The socket in the folder must fit a path of 107 octets (unix(7)).
BASE_OCTETS_MAX: Final = 60
# A container has 64 MiB of /dev/shm, often.
MEMORY_OCTETS_MIN: Final = 1 << 30
LOCK: Final = "lock"
ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LINE_OCTETS_MAX: Final = 1 << 20

DESCRIPTION: Final = """Start a broker for tests on a free port, with its data in a temporary folder, and print its URI
on one line. End it when standard input, a pipe, is closed, or by a signal."""
ORDERS: Final = "drop, latency SECONDS, refuse, accept, kill, stop, start, facts, quit"
EPILOG: Final = f"""Orders on standard input, one a line, each answered by a line of JSON: {ORDERS}. See
pybroker-testing(7)."""


def execute(argv: list[str]) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser("pybroker-testing", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument(
        "--json", action="store_true", help="print an object with uri, port, pid, socket, folder and log"
    )
    parser.add_argument("--config", default="", metavar="LINES", help="lines of pybroker.conf(5)")
    parser.add_argument("--parent", type=int, default=0, metavar="PID", help="end when this process is gone as well")
    parser.add_argument("--version", action="version", version=f"pybroker-testing {VERSION}")
    given = parser.parse_args(argv)
    for number in ENDING:
        signal.signal(number, _leave)
    base = _base()
    _sweep(base)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    daemon = None
    try:
        _lock(folder)
        daemon = DaemonProcess(folder, given.config)
        daemon.spawn()
        return Supervisor(folder, daemon, given.parent, as_json=given.json).run()
    except StartFailed as error:
        sys.stderr.write(f"pybroker-testing: {error}\n")
        return os.EX_UNAVAILABLE
    finally:
        for number in ENDING:
            signal.signal(number, signal.SIG_IGN)
        if daemon is not None:
            daemon.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _leave(*_: object) -> NoReturn:
    raise SystemExit(os.EX_OK)


def _base() -> Path:
    """Return the folder to put ours in: that of TMPDIR, else one in memory, where a sync costs nothing, else /tmp."""
    given = tempfile.gettempdir()
    in_memory = Path("/dev/shm")  # noqa: S108 - as mkdtemp does
    if not os.environ.get("TMPDIR"):
        with contextlib.suppress(OSError):
            if shutil.disk_usage(in_memory).free >= MEMORY_OCTETS_MIN and os.access(in_memory, os.W_OK | os.X_OK):
                return in_memory
    return Path(given if len(os.fsencode(given)) <= BASE_OCTETS_MAX else "/tmp")  # noqa: S108


def _lock(folder: Path) -> None:
    """Hold a lock on a folder until this process ends, however it does."""
    # It gets its name when it is locked: nobody finds it before.
    lock = os.open(folder / "new-lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (folder / "new-lock").rename(folder / LOCK)


def _sweep(base: Path) -> None:
    """Remove folders of supervisors that were killed."""
    for lock in base.glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError), lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


class Supervisor:
    """The daemon, the proxy in front of it, and the loop that listens to orders."""

    def __init__(self, folder: Path, daemon: DaemonProcess, parent: int, *, as_json: bool) -> None:
        self._folder = folder
        self._daemon = daemon
        self._parent = parent
        self._as_json = as_json
        self._proxy: Proxy
        self._over: asyncio.Event
        self._orders: asyncio.Queue[str]
        self._input = b""

    def run(self) -> int:
        """Serve until the end; return the exit code. Raises StartFailed."""
        import asyncio  # noqa: PLC0415 - 60 ms, while the daemon starts

        return asyncio.run(self._serve())

    async def _serve(self) -> int:
        import asyncio  # noqa: PLC0415 - likewise

        from pybroker.testing.proxy import Proxy  # noqa: PLC0415 - likewise

        loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._orders = asyncio.Queue()
        self._proxy = Proxy()
        self._wait_for_daemon()
        await self._proxy.accept()
        for number in ENDING:
            loop.add_signal_handler(number, self._over.set)
        try:
            if self._parent:
                loop.add_reader(os.pidfd_open(self._parent), self._over.set)
        except ProcessLookupError:
            return os.EX_OK
        if _is_pipe(sys.stdin.fileno()):
            os.set_blocking(sys.stdin.fileno(), False)
            loop.add_reader(sys.stdin.fileno(), self._read, loop)
        self._say(self._facts() if self._as_json else None)
        worker = loop.create_task(self._obey())
        await self._over.wait()
        worker.cancel()
        return os.EX_OK

    def _wait_for_daemon(self) -> None:
        self._daemon.wait_until_ready()
        self._proxy.upstream_port = self._daemon.port

    def _facts(self) -> dict[str, Any]:
        """Return where everything is."""
        return {
            # A path of / alone is the empty virtual host to some clients.
            "uri": f"amqp://guest:guest@{HOST}:{self._proxy.port}/%2F",
            "port": self._proxy.port,
            "pid": self._daemon.pid,
            "direct_port": self._daemon.port,
            "socket": str(self._daemon.socket),
            "folder": str(self._folder),
            "log": str(self._daemon.log),
        }

    def _say(self, value: dict[str, Any] | None) -> None:
        """Write a line: the value, or the URI. Without a reader it is over."""
        try:
            sys.stdout.write(f"{self._facts()['uri'] if value is None else json.dumps(value)}\n")
            sys.stdout.flush()
        except OSError:
            self._over.set()

    # -- orders -------------------------------------------------------------------------------------------------------

    def _read(self, loop: "asyncio.AbstractEventLoop") -> None:
        """Take what the input has, and obey its whole lines."""
        try:
            octets = os.read(sys.stdin.fileno(), 65_536)
        except BlockingIOError:
            return
        except OSError:
            octets = b""
        if not octets or len(self._input) > LINE_OCTETS_MAX:
            loop.remove_reader(sys.stdin.fileno())
            self._over.set()
            return
        *lines, self._input = (self._input + octets).split(b"\n")
        for line in lines:
            self._orders.put_nowait(line.decode(errors="replace"))

    async def _obey(self) -> None:
        """Run one order after the other, and answer each."""
        while True:
            name, *words = (await self._orders.get()).split() or [""]
            try:
                self._say({"ok": await self._order(name, words)})
            except (StartFailed, ValueError) as error:
                self._say({"error": str(error)})

    async def _order(self, name: str, words: list[str]) -> Any:
        """Run one order; return its value. Raises StartFailed, ValueError."""
        match name, words:
            case "drop", _:
                return self._proxy.drop({int(word) for word in words} if words else None)
            case "latency", [seconds]:
                self._proxy.latency_s = max(0.0, float(seconds))
            case "refuse", []:
                self._proxy.refuse()
            case "accept", []:
                await self._proxy.accept()
            case (("kill" | "stop"), []):
                self._proxy.refuse()
                (self._daemon.kill if name == "kill" else self._daemon.stop)()
            case "start", ([] | ["refusing"]):
                if not self._daemon.pid:
                    self._daemon.spawn()
                    self._wait_for_daemon()
                if not words:
                    await self._proxy.accept()
                return self._facts()
            case "facts", []:
                return self._facts()
            case "quit", []:
                self._over.set()
            case _:
                raise ValueError(f"unknown order {' '.join([name, *words])!r}; the orders are {ORDERS}")
        return None


def _is_pipe(descriptor: int) -> bool:
    """Tell whether the end of a descriptor's input means something: /dev/null is at its end from the beginning."""
    with contextlib.suppress(OSError):
        mode = os.fstat(descriptor).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    return False
