"""Server: gevent's WSGI server with the limits that a door to the world needs."""

import contextlib
import socket as system_socket
from collections import OrderedDict
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent import pywsgi
from gevent.pool import Pool

from pybroker.http.door.access_log import AccessLog, request_id
from pybroker.http.door.body import Body
from pybroker.http.door.head import BadHead, Head, check_fields

if TYPE_CHECKING:
    from pybroker.http.door.tls import Certificates

CONNECTIONS_MAX: Final = 256
# Of these, kept free: to let a new one in, the one ends that has waited longest for a request.
SPARE: Final = 16
# More wait in the kernel.
BACKLOG: Final = 1_024
# Between two requests, and between two octets of a body.
IDLE_S: Final = 60.0
# From the first octet of a request to the end of its head.
HEAD_S: Final = 10.0
# From accept to the end of the handshake.
HANDSHAKE_S: Final = 5.0
# Of a request that was refused, read before the connection ends.
LAST_S: Final = 1.0
LAST_OCTETS_MAX: Final = 1 << 20
CHUNK_OCTETS: Final = 65_536
VERSIONS: Final = (["HTTP/1.1"], ["HTTP/1.0"])


class Handler(pywsgi.WSGIHandler):  # type: ignore[misc] # gevent tells no types
    """One connection. The path stays as it was sent."""

    rfile: Any
    environ: dict[str, Any]
    wsgi_input: Any

    def read_requestline(self) -> str:
        """Wait for a request, and return its first line. Raises OSError: none comes, or it takes too long."""
        self.server.idle[self] = gevent.getcurrent()
        try:
            self.rfile.peek(1)
        finally:
            self.server.idle.pop(self, None)
        try:
            with gevent.Timeout(HEAD_S, BadHead(HTTPStatus.REQUEST_TIMEOUT, "the head of the request took too long")):
                line: str = super().read_requestline()
        except BadHead as error:
            self._refuse(error)
            raise TimeoutError from None
        if len(line) >= pywsgi.MAX_REQUEST_LINE:
            self._refuse(BadHead(HTTPStatus.REQUEST_URI_TOO_LONG, "the request line is too long"))
            raise ConnectionError
        return line

    def read_request(self, raw_requestline: str) -> bool:
        """Read the head of a request. Raises ValueError: it is none, too large, or too slow."""
        if raw_requestline.split()[2:] not in VERSIONS:
            raise BadHead(HTTPStatus.BAD_REQUEST, "the request line does not end with HTTP/1.1 or HTTP/1.0")
        file = self.rfile
        self.rfile = Head(file)
        try:
            with gevent.Timeout(HEAD_S, BadHead(HTTPStatus.REQUEST_TIMEOUT, "the head of the request took too long")):
                is_read: bool = super().read_request(raw_requestline)
        except HTTPException as error:
            raise BadHead(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, str(error)) from None
        except OSError as error:
            raise ValueError(f"the head of the request cannot be read: {error}") from None
        finally:
            self.rfile = file
        if not self.path.isascii():
            raise BadHead(HTTPStatus.BAD_REQUEST, "the path is not percent-encoded")
        return is_read

    def MessageClass(self, *args: Any) -> Any:  # noqa: N802 - gevent's name
        """Return the fields of a head. Raises BadHead: it is not clear where the request ends."""
        fields = super().MessageClass(*args)
        check_fields(fields, needs_host=self.request_version == "HTTP/1.1")
        return fields

    def _connection_upgrade_requested(self) -> bool:
        """There is nothing to upgrade to."""
        return False

    def get_environ(self) -> dict[str, Any]:
        """Return the WSGI environment."""
        environ: dict[str, Any] = super().get_environ()
        environ["PATH_INFO"] = self.path.partition("?")[0]
        environ["pybroker.request"] = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
        found = self.wsgi_input
        self.wsgi_input = environ["wsgi.input"] = Body(
            self.rfile, found.content_length, found.socket, found.chunked_input
        )
        return environ

    def handle_one_response(self) -> None:
        """Answer; after a body that was not read to its end, nothing more is read."""
        super().handle_one_response()
        if self.wsgi_input.is_left:
            self.close_connection = True

    def _handle_client_error(self, ex: Exception) -> None:
        """Answer a request that is none; the connection ends."""
        self._refuse(ex if isinstance(ex, BadHead) else BadHead(HTTPStatus.BAD_REQUEST, "the request cannot be read"))

    def _refuse(self, error: BadHead) -> None:
        """Answer, and read on for a moment: a client that is still sending would lose the answer."""
        self.environ, self.code, self.response_length = {}, error.status, len(error.response)
        self.log_request()
        with contextlib.suppress(OSError), gevent.Timeout(LAST_S, False):
            self.socket.sendall(error.response)
            self.socket.shutdown(system_socket.SHUT_WR)
            for _ in range(LAST_OCTETS_MAX // CHUNK_OCTETS):
                if not self.socket.recv(CHUNK_OCTETS):
                    break

    def handle_error(self, *_: object) -> None:
        """Close the connection: what a client sends may be anything, and the application tells of its own faults."""
        self.close_connection = True
        self._send_error_response_if_possible(400)

    def finalize_headers(self) -> None:
        """Add the headers that every answer has."""
        super().finalize_headers()
        self.response_headers.append((b"X-Request-ID", self.environ["pybroker.request"].encode()))

    def log_request(self) -> None:
        """Note the request in the access log."""
        address, environ = self.client_address, self.environ or {}
        code, octets = abs(self.code or 0), self.response_length or 0
        self.server.access_log.note(str(address[0]), environ, code, octets, self.time_start)


class Server(pywsgi.WSGIServer):  # type: ignore[misc] # likewise
    """Listens on one address, from `start` to `stop`. `idle` are those that wait for a request."""

    handler_class = Handler
    scheme = "http"

    def __init__(self, address: tuple[str, int], application: Any, access_log: AccessLog) -> None:
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
        self.access_log = access_log
        self.idle: OrderedDict[Any, Any] = OrderedDict()

    def handle(self, sock: Any, address: Any) -> None:
        """Serve a connection until it ends."""
        self.make_room()
        self.serve(sock, address)

    def make_room(self) -> None:
        """End the connection that has been idle longest, if few are left."""
        if self.idle and len(self.pool) > CONNECTIONS_MAX - SPARE:
            _, oldest = self.idle.popitem(last=False)
            oldest.kill(block=False)

    def serve(self, sock: Any, address: Any) -> None:
        """Serve requests until there are no more."""
        # A page in two packets would else wait 40 ms for the second.
        sock.setsockopt(system_socket.IPPROTO_TCP, system_socket.TCP_NODELAY, 1)
        sock.settimeout(IDLE_S)
        with contextlib.suppress(OSError):
            super().handle(sock, address)


class TlsServer(Server):
    """The same over TLS. Each handshake is a greenlet's own, and one that takes too long is given up."""

    scheme = "https"

    def __init__(
        self, address: tuple[str, int], application: Any, access_log: AccessLog, certificates: "Certificates"
    ) -> None:
        super().__init__(address, application, access_log)
        self._certificates = certificates

    def handle(self, sock: Any, address: Any) -> None:
        """Serve a connection until it ends."""
        self.make_room()
        self.idle[sock] = gevent.getcurrent()
        try:
            with gevent.Timeout(HANDSHAKE_S, ConnectionError("the handshake took too long")):
                tls = self._certificates.accept(sock)
        except OSError:
            sock.close()
            return
        finally:
            self.idle.pop(sock, None)
        self.serve(tls, address)
