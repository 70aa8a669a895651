"""Server: gevent's WSGI server with the limits that a door to the world needs."""

import contextlib
import socket as system_socket
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent import pywsgi
from gevent.pool import Pool

if TYPE_CHECKING:
    from pybroker.http.tls import Certificates

CONNECTIONS_MAX: Final = 256
# More wait in the kernel.
BACKLOG: Final = 1_024
# Between two requests, and between two octets of a body.
IDLE_S: Final = 60.0
# From the request line to the end of the head.
HEAD_S: Final = 10.0
HEAD_OCTETS_MAX: Final = 65_536
# From the first octet of TLS to the end of the handshake.
HANDSHAKE_S: Final = 5.0
VERSIONS: Final = (["HTTP/1.1"], ["HTTP/1.0"])


class _Head:
    """The head of a request, as lines; no more of it than HEAD_OCTETS_MAX."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = HEAD_OCTETS_MAX

    def readline(self, size: int = -1) -> bytes:
        line: bytes = self._file.readline(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(line)
        if not self._left:
            raise ValueError("the head of the request is too large")
        return line


class Handler(pywsgi.WSGIHandler):  # type: ignore[misc] # gevent tells no types
    """One connection. The path stays as it was sent."""

    rfile: Any

    def read_request(self, raw_requestline: str) -> bool:
        """Read the head of a request. Raises ValueError: it is none, too large, or too slow."""
        if raw_requestline.split()[2:] not in VERSIONS:
            raise ValueError("the request line does not end with HTTP/1.1 or HTTP/1.0")
        file = self.rfile
        self.rfile = _Head(file)
        try:
            with gevent.Timeout(HEAD_S, ValueError("the head of the request took too long")):
                is_read: bool = super().read_request(raw_requestline)
        except (OSError, HTTPException) as error:
            raise ValueError(f"the head of the request cannot be read: {error}") from None
        finally:
            self.rfile = file
        if not self.path.isascii():
            raise ValueError("the path is not percent-encoded")
        return is_read

    def get_environ(self) -> dict[str, Any]:
        """Return the WSGI environment."""
        environ: dict[str, Any] = super().get_environ()
        environ["PATH_INFO"] = self.path.partition("?")[0]
        return environ

    def handle_error(self, *_: object) -> None:
        """Close the connection: what a client sends may be anything, and the application tells of its own faults."""
        self.close_connection = True
        self._send_error_response_if_possible(400)

    def log_request(self) -> None:
        """Write nothing: scrapes come every few seconds."""


class Server(pywsgi.WSGIServer):  # type: ignore[misc] # likewise
    """Listens on one address, from `start` to `stop`."""

    handler_class = Handler
    scheme = "http"

    def __init__(self, address: tuple[str, int], application: Any) -> None:
        super().__init__(
            address,
            application,
            log=None,
            error_log=None,
            backlog=BACKLOG,
            spawn=Pool(CONNECTIONS_MAX),
            # Without the name it would ask for it over the network.
            environ={"wsgi.multithread": False, "SERVER_NAME": address[0], "wsgi.url_scheme": self.scheme},
        )

    def handle(self, sock: Any, address: Any) -> None:
        """Serve a connection until it ends."""
        # A page in two packets would else wait 40 ms for the second.
        sock.setsockopt(system_socket.IPPROTO_TCP, system_socket.TCP_NODELAY, 1)
        sock.settimeout(IDLE_S)
        with contextlib.suppress(OSError):
            super().handle(sock, address)


class TlsServer(Server):
    """The same over TLS. Each handshake is a greenlet's own, and one that takes too long is given up."""

    scheme = "https"

    def __init__(self, address: tuple[str, int], application: Any, certificates: "Certificates") -> None:
        super().__init__(address, application)
        self._certificates = certificates

    def handle(self, sock: Any, address: Any) -> None:
        """Serve a connection until it ends."""
        try:
            with gevent.Timeout(HANDSHAKE_S, ConnectionError("the handshake took too long")):
                tls = self._certificates.accept(sock)
        except OSError:
            sock.close()
            return
        super().handle(tls, address)
