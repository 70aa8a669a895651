"""TLS: a context from options, and the encrypted twin of `Stream`.

OpenSSL's objects may not be used by two threads at once, but here one thread reads while others write. So the cipher
works on memory behind a lock, for a moment each time, and the socket is waited for outside of it.
"""

import contextlib
import errno
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Final

from pybroker.client.options import Tls
from pybroker.client.transport.stream import READ_OCTETS, Stream

# Octets that are encrypted at a time: four records.
_PIECE_OCTETS: Final = 1 << 16


def make_context(tls: Tls) -> ssl.SSLContext:
    """Return the context that `tls` describes. Raises OSError, which names the file, for one that cannot be used."""
    with _naming(tls.ca_file):
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=tls.ca_file)
    if tls.cert_file:
        with _naming(", ".join(filter(None, (tls.cert_file, tls.key_file)))):
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(tls.cert_file, tls.key_file, tls.key_password)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


@contextlib.contextmanager
def _naming(files: str | None) -> Iterator[None]:
    """Let an error say which files it is about: OpenSSL's do not."""
    try:
        yield
    except ssl.SSLError as error:
        raise OSError(errno.EINVAL, f"unusable certificate or key ({error})", files) from error
    except ValueError as error:  # a password too long for OpenSSL
        raise OSError(errno.EINVAL, f"unusable password of the key ({error})", files) from error
    except OSError as error:
        raise OSError(error.errno, error.strerror, files) from error


class TlsStream(Stream):
    """A stream whose octets are encrypted; made when the handshake is over."""

    __slots__ = ("_cipher", "_incoming", "_lock", "_outgoing", "_rest")

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, server_name: str, timeout_s: float) -> None:
        super().__init__(sock)
        self._lock = threading.Lock()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._cipher = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        self._rest = memoryview(b"")
        self._shake_hands(timeout_s)

    def receive(self, timeout_s: float | None = None) -> bytes:
        """Return what has come, b"" at the end of the stream. Raises TimeoutError, OSError."""
        while True:
            with self._lock:
                try:
                    return self._cipher.read(READ_OCTETS)
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return b""
            self._take(super().receive(timeout_s))

    def send(self, octets: memoryview) -> int:
        """Return how many of the octets were taken: they are encrypted, and `flush` sends the rest of them."""
        if not self.flush():
            return 0
        piece = octets[:_PIECE_OCTETS]
        with self._lock:
            try:
                self._cipher.write(piece)
            except ssl.SSLWantReadError:  # a renegotiation, which the reader goes on with
                return 0
            self._rest = memoryview(self._outgoing.read())
        self.flush()
        return len(piece)

    def flush(self) -> bool:
        """Tell whether all that `send` took has left this process. Raises OSError."""
        while self._rest:
            sent = super().send(self._rest)
            if not sent:
                return False
            self._rest = self._rest[sent:]
        return True

    def _take(self, octets: bytes) -> None:
        with self._lock:
            if octets:
                self._incoming.write(octets)
            else:
                self._incoming.write_eof()

    def _shake_hands(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self._cipher.do_handshake()
            except ssl.SSLWantReadError:
                self._send_all(deadline)
                self._take(super().receive(deadline - time.monotonic()))
            else:
                self._send_all(deadline)
                return

    def _send_all(self, deadline: float) -> None:
        self._rest = memoryview(self._outgoing.read())
        while not self.flush():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("the TLS handshake timed out")
            self.wait_writable(left)
