"""Listener: one listening socket, TCP or Unix, and the connections that it accepts."""

import contextlib
import errno
import logging
import socket
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pybroker.log_event import BUG, event
from pybroker.net.transport import READ, read_address

if TYPE_CHECKING:
    from pybroker.net.spare_time import SpareTime

BACKLOG: Final = 1_024
# When the process has no file descriptor left, the listener rests this long instead of spinning.
REST_S: Final = 0.5
# The kernel's buffer for a peer that does not read is part of what a stuck one costs.
# With 256 KiB, bodies of 128 KiB are sent only two at a time, which costs a fifth of the rate.
SEND_BUFFER_OCTETS: Final = 1_048_576
# Unacknowledged octets for this long mean that the peer's machine is gone.
USER_TIMEOUT_MS: Final = 120_000

log = logging.getLogger("pybroker")


class Listener:
    """`interface` and `port` as bound; a Unix socket has `path` and port 0. `accepted(sock)` gets each new socket.

    It accepts in the loop's `spare` time, so that a storm of newcomers starves nobody. `protocol` is what is spoken
    there, as operators know it; newcomers of one `kind` share so many places.
    """

    __slots__ = (
        "_accepted",
        "_in_line",
        "_loop",
        "_open",
        "_sock",
        "_spare",
        "_timer",
        "_watcher",
        "interface",
        "kind",
        "path",
        "port",
        "protocol",
    )

    def __init__(
        self,
        sock: socket.socket,
        loop: Any,
        spare: "SpareTime",
        accepted: Callable[[socket.socket], None],
        path: str = "",
        protocol: str = "amqp",
        kind: str = "amqp",
    ) -> None:
        self.protocol = protocol
        self.kind = kind
        self.path = path
        name = sock.getsockname()
        self.interface = path or name[0]
        self.port = 0 if path else name[1]
        if not path:
            # An accepted socket inherits them, one of a Unix socket nothing.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_OCTETS)
        self._sock = sock
        self._loop = loop
        self._spare = spare
        self._accepted = accepted
        self._open = False
        self._in_line = False  # for spare time
        self._watcher: Any = loop.io(sock.fileno(), READ)
        self._timer: Any = None

    def start(self) -> None:
        """Accept connections (again)."""
        self._open = True
        if not self._watcher.active and not self._in_line:
            self._watcher.start(self._on_readable)

    def pause(self) -> None:
        """Leave newcomers in the kernel's backlog."""
        self._open = False
        self._watcher.stop()
        if self._timer is not None:
            self._timer.stop()

    def close(self) -> None:
        """Stop listening; a Unix socket's file goes."""
        self._open = False
        self._watcher.stop()
        self._watcher.close()
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
        self._sock.close()
        if self.path:
            try:
                Path(self.path).unlink()
            except FileNotFoundError:
                log.warning("the socket file %s was already removed", self.path, extra=event("listener.file_missing"))

    def _on_readable(self) -> None:
        self._watcher.stop()
        self._line_up()

    def _line_up(self) -> None:
        self._in_line = True
        self._spare.let_in(self._accept)

    def _accept(self) -> None:
        """Accept one, if there is one, to be let in when there is time for that, too."""
        self._in_line = False
        if not self._open:
            return
        try:
            sock, address = self._sock.accept()
        except BlockingIOError:
            self._watcher.start(self._on_readable)
            return
        except ConnectionAbortedError:
            self._line_up()
            return
        except OSError as error:
            # Try again later, for any reason: a watcher that is never started again hears nobody.
            extra = event("listener.accept_failed")
            log.error("cannot accept a connection: %s; trying again in %s s", error.strerror, REST_S, extra=extra)  # noqa: TRY400
            self._rest()
            return
        if self._succeeds(sock, lambda: self._set_options(sock, address)):
            self._in_line = True
            self._spare.do_later("let in", partial(self._let_in, sock))
        else:
            self._go_on()

    def _let_in(self, sock: socket.socket) -> None:
        """Have a newcomer taken in, unless we listen no more."""
        if self._sock.fileno() < 0:
            sock.close()
        else:
            self._succeeds(sock, lambda: self._accepted(sock))
        self._go_on()

    def _go_on(self) -> None:
        """As long as there may be another one, line up again."""
        self._in_line = False
        if self._open:
            self._line_up()

    def _succeeds(self, sock: socket.socket, work: Callable[[], object]) -> bool:
        """Do something for a newcomer; if that fails, close its socket and return False."""
        try:
            work()
        except OSError:
            pass  # gone before it was looked at
        except Exception:
            log.exception("internal error: a connection was refused", extra=event(BUG))
        else:
            return True
        sock.close()
        return False

    def _set_options(self, sock: socket.socket, address: tuple[str, ...]) -> None:
        sock.setblocking(False)
        if self.path:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_OCTETS)
        elif _is_here(address[0], sock.getsockname()[0]):
            _unpace(sock)

    def _rest(self) -> None:
        self.pause()
        if self._timer is not None:
            self._timer.close()
        self._timer = self._loop.timer(REST_S)
        self._timer.start(self.start)


def _is_here(peer: str, local: str) -> bool:
    """Tell whether a peer with this address is on this host."""
    return peer == local or read_address(peer)[1] or read_address(local)[1]


def _unpace(sock: socket.socket) -> None:
    """Let nothing pace what is sent to this host itself.

    BBR, where it is the system's default, does: with it a large delivery takes two to four times as long.
    """
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def tcp_socket(host: str, port: int, backlog: int = BACKLOG) -> socket.socket:
    """Return a listening TCP socket. Raises OSError."""
    # As octets: a text is looked up in tables of international names, which stay in memory.
    family, kind, protocol, _, address = socket.getaddrinfo(
        host.encode(), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
    )[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # Each family has its own listener, so that a peer's address is what it says.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(backlog)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def unix_socket(path: str, backlog: int = BACKLOG) -> socket.socket:
    """Return a listening Unix socket at `path`; a dead socket file there is replaced. Raises OSError."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if _is_dead_socket(path):
            Path(path).unlink()
        sock.bind(path)
        sock.listen(backlog)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _is_dead_socket(path: str) -> bool:
    """Tell whether a socket file lies at `path` that nobody listens on."""
    try:
        if not stat.S_ISSOCK(Path(path).stat().st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(path) == errno.ECONNREFUSED
