"""Web: the socket for pybroker-web, and that program as a child, which is started again whenever it ends.

Under systemd the program is a unit of its own. Knows nothing of HTTP.
"""

import contextlib
import json
import logging
import os
import re
import subprocess
import sys
from typing import IO, TYPE_CHECKING, Any, Final

import gevent

from pybroker import paths
from pybroker.control.doors import WEB
from pybroker.control.server import ControlServer
from pybroker.daemon.start_error import refused_by_system
from pybroker.log_event import event

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pybroker.core.broker import Broker
    from pybroker.daemon.controller import DaemonController

# From one end to the next start; longer where it ended at once.
RESTART_S: Final = 1.0
RESTART_S_MAX: Final = 60.0
# A child that lived for so long has not failed to start.
LIFE_S: Final = 30.0
LINE_OCTETS_MAX: Final = 4_096
# To end when it is told to.
END_S_MAX: Final = 1.0
POLL_S: Final = 0.02

# Lines of the child about an address and its purpose.
WARNING: Final = "warning: "
_REFUSED: Final = re.compile(r"warning: (?P<text>cannot listen on (?P<place>\S+ for .+) \(.*\); trying again)")
_LISTENING: Final = re.compile(r"listening on (?P<place>\S+ for .+)")

# The fields are those of pybroker-web's access log.
REQUEST: Final = (
    "pybroker-web: %(method)s %(path)s by %(user)s at %(peer)s: status %(status)s, %(octets)s octets, %(ms)s ms, "
    "request %(request)s"
)

log = logging.getLogger("pybroker")


class Web:
    """The socket beside the control socket `control`, and the child, if it is `wanted`."""

    def __init__(
        self,
        broker: "Broker",
        controller: "DaemonController",
        control: "Path",
        pause: "Callable[[float], object]",
        *,
        child: bool,
    ) -> None:
        self._door = ControlServer(broker, paths.web_socket(control), controller, pause, WEB)
        self._wants_child = child
        self._notices = broker.notices
        self._warnings: dict[str, str] = {}  # by address and purpose: the notice that it is not listened on
        self._child: subprocess.Popen[bytes] | None = None
        self._life: Any = None

    def start(self) -> None:
        """Open the socket, and start the child. Raises StartError: the socket cannot be opened."""
        try:
            self._door.start()
        except OSError as error:
            raise refused_by_system(f"cannot listen on the web socket {self._door.path}", error) from None
        if self._wants_child:
            self._life = gevent.spawn(self._run)

    def stop(self) -> None:
        """End the child, close the socket. Idempotent."""
        if self._life is not None:
            self._life.kill(block=False)
            self._life = None
        if self._child is not None:
            self._end(self._child)
            self._child = None
        self._door.stop()

    def _run(self) -> None:
        pause_s = 0.0
        while True:
            start_s = gevent.get_hub().loop.now()
            try:
                # The standard library's, which does not copy the tables of a process of many gigabytes as fork does.
                self._child = child = subprocess.Popen(  # noqa: S603 - our own
                    [sys.executable, "-m", "pybroker.http.main", "--socket", str(self._door.path), "--until-eof"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C at the terminal is for the node
                )
                assert child.stderr is not None
                self._tell(child.stderr)
                text = f"pybroker-web ended with {_wait(child)}"
                self._withdraw(*self._warnings)
            except OSError as error:
                text = f"cannot start pybroker-web: {error.strerror}"
            lived_s = gevent.get_hub().loop.now() - start_s
            pause_s = restart_pause_s(pause_s, lived_s)
            log.warning("%s; starting it again in %g s", text, pause_s, extra=event("web.ended"))
            gevent.sleep(pause_s)

    def _tell(self, errors: IO[bytes]) -> None:
        """Log what the child says, until it ends."""
        descriptor = errors.fileno()
        os.set_blocking(descriptor, False)
        rest = b""
        with errors:
            while octets := gevent.os.nb_read(descriptor, 65_536):
                *lines, rest = (rest + octets).split(b"\n")
                rest = rest[:LINE_OCTETS_MAX]
                for line in lines:
                    self._hear(line.decode(errors="backslashreplace"))

    def _hear(self, text: str) -> None:
        """Log a line of the child; operators are also shown on which addresses it cannot listen, until it can."""
        _log(text)
        if refused := _REFUSED.match(text):
            self._withdraw(refused["place"])
            self._warnings[refused["place"]] = notice = f"pybroker-web {refused['text']}"
            self._notices.add(notice)
        elif listening := _LISTENING.match(text):
            self._withdraw(listening["place"])

    def _withdraw(self, *places: str) -> None:
        for place in places:
            self._notices.withdraw(self._warnings.pop(place, ""))

    @staticmethod
    def _end(child: "subprocess.Popen[bytes]") -> None:
        child.terminate()
        with contextlib.suppress(OSError):
            if child.stdin is not None:
                child.stdin.close()
        with gevent.Timeout(END_S_MAX, False):
            _wait(child)
        child.kill()


def _log(text: str) -> None:
    """Log a line of the child: a request that it served is one of JSON, a warning begins with that word."""
    facts: Any = None
    if text.startswith('{"time": '):
        with contextlib.suppress(ValueError):
            facts = json.loads(text)
    if facts is None and text.startswith(WARNING):
        log.warning("pybroker-web: %s", text.removeprefix(WARNING), extra=event("web.warned"))
        return
    if facts is None:
        log.info("pybroker-web: %s", text, extra=event("web.said"))
        return
    del facts["time"]
    log.debug(REQUEST, facts, extra=event("web.request", **facts))


def restart_pause_s(last_s: float, lived_s: float) -> float:
    """Return how long to wait before the next start: twice the last time if the child ended soon again."""
    return min(max(2 * last_s, RESTART_S), RESTART_S_MAX) if lived_s < LIFE_S else RESTART_S


def _wait(child: "subprocess.Popen[bytes]") -> int:
    """Return the exit code, as soon as there is one; others go on."""
    while (code := child.poll()) is None:
        gevent.sleep(POLL_S)
    return code
