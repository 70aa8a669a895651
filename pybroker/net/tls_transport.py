"""TlsTransport: a transport whose octets are encrypted on the way, after the handshake.

OpenSSL reads from one buffer and writes into another, and never sees the socket. It works on the loop, on all that the
socket has at a time. Octets that were encrypted count as sent: at most `ENCRYPTED_MAX` of them wait for the kernel. The
transport writes them itself, and calls back for more when there are none left.
"""

import errno
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from pybroker.net.transport import WRITE, Transport

if TYPE_CHECKING:
    from collections.abc import Callable

# The most that one record of TLS carries.
RECORD_OCTETS: Final = 16_384
# Encrypted at a time: two bodies of 128 KiB and what is around them, which fill an outbox. More follows only when the
# kernel has taken all of it, so that flow control sees a slow peer.
ENCRYPTED_MAX: Final = 17 * RECORD_OCTETS
# Read from the socket at a time.
READ_OCTETS_MAX: Final = 262_144
# Received without an octet for the session, at most: no record is larger, nobody needs to change keys so often, and to
# follow a peer that does nothing else would keep the loop from all others.
EMPTY_OCTETS_MAX: Final = 65_536
# Ciphertext counts as full of content with fewer other octets: heads of records, and the beginning of the last one.
FILLING_OCTETS_MAX: Final = 32_768
# Parts of this size and above fill records of their own. To join smaller ones costs less than more records.
LARGE_OCTETS: Final = 32_768

# The ciphertext that came last on any connection, on its way to OpenSSL. A buffer for each read costs as much again.
_received: Final = memoryview(bytearray(READ_OCTETS_MAX))


class TlsTransport(Transport):
    """Takes a plain transport's place.

    The end of the connection without TLS's farewell is an end like another: AMQP has its own, `connection.close`.
    """

    __slots__ = (
        "_call_back",
        "_came",
        "_empty",
        "_ended",
        "_fault",
        "_finishing",
        "_got",
        "_incoming",
        "_outgoing",
        "_read_octets",
        "_tls",
        "_unsent",
        "buffered",
    )

    def __init__(
        self, transport: Transport, tls: ssl.SSLObject, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO
    ) -> None:
        super().__init__(transport._sock, transport._loop)
        transport.silence()
        self._tls = tls
        self._incoming = incoming
        self._outgoing = outgoing
        self._unsent: bytes | memoryview = b""  # encrypted, not taken by the kernel yet
        self._call_back: Callable[[], None] | None = None  # wants to send more when that is gone
        self._read_octets = RECORD_OCTETS  # of the socket at a time: OpenSSL's buffer stays as large as it once was
        self._came = self._got = 0  # octets of the last read, and those for the session that were in it
        self._empty = 0  # octets since the last ones for the session
        self._finishing = False
        self._ended = False  # the peer said that it sends no more
        self._fault = ""
        self.buffered = bool(incoming.pending)

    # -- octets -------------------------------------------------------------------------------------------------------

    def receive(self, octets_max: int) -> bytes:
        """Return what the peer sent; no octets: it will send no more. Raises BlockingIOError, OSError."""
        parts: list[bytes] = []
        left = octets_max
        while left > 0 and not self._ended and (not parts or self._goes_on()):
            if self._fault:
                raise OSError(errno.EPROTO, self._fault)
            if not self.buffered:
                try:
                    self._fetch()
                except OSError as error:
                    if not parts:
                        raise
                    if not isinstance(error, BlockingIOError):
                        self._fail(error)
                    break
            left = self._decrypt(parts, left)
            if self._outgoing.pending:
                self._answer()
            if self._empty > EMPTY_OCTETS_MAX:
                self._fault = self._fault or "TLS: the peer sends records without content"
        if self._ended or self._fault:
            self.buffered = True  # that is said when it is asked for the next time
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _goes_on(self) -> bool:
        """Tell whether a large transfer is under way, of which the socket may have more at once."""
        return not self._fault and self._came == READ_OCTETS_MAX and self._came - self._got < FILLING_OCTETS_MAX

    def _fetch(self) -> None:
        """Give OpenSSL what the socket has. Raises BlockingIOError, OSError."""
        came = self._sock.recv_into(_received, self._size())
        self._incoming.write(_received[:came])
        self._came, self._got = came, 0
        self._empty += came
        self._ended = not came

    def _decrypt(self, parts: list[bytes], left: int) -> int:
        """Add what OpenSSL can read, `left` octets at most; return how many more there may be."""
        read, incoming, tls = self._tls.read, self._incoming, self._tls
        try:
            while left > 0:
                part = read(min(left, RECORD_OCTETS))
                if not part:
                    self._ended = True
                    break
                parts.append(part)
                octets = len(part)
                left -= octets
                self._got += octets
                self._empty = 0
                if octets < RECORD_OCTETS and not incoming.pending and not tls.pending():
                    break
            self.buffered = bool(incoming.pending or tls.pending())
        except ssl.SSLWantReadError:
            self.buffered = False
        except ssl.SSLError as error:
            self._fault = _explain(error)
        return left

    def _size(self) -> int:
        """Return how much to read from the socket: more after a read that was full of octets for the session."""
        if self._got < self._came // 2:
            self._read_octets = RECORD_OCTETS
        elif self._came == self._read_octets < READ_OCTETS_MAX:
            self._read_octets *= 2
        return self._read_octets

    def _answer(self) -> None:
        """Send what OpenSSL has to say by itself: an alert, or new keys of its own for a peer that changed keys."""
        try:
            if not self._push() and self._outgoing.pending > ENCRYPTED_MAX:
                self._fault = "TLS: the peer changes keys and does not read"
        except OSError as error:
            self._fail(error)

    def send(self, parts: list[Any]) -> list[Any]:
        """Encrypt and send `parts` until the kernel takes no more; return the rest. Raises OSError."""
        if self._fault:
            raise OSError(errno.EPROTO, self._fault)
        if self._unsent and not self._push():
            return parts
        while parts:
            parts = self._encrypt(parts)
            if not self._push():
                break
        return parts

    def _encrypt(self, parts: list[Any]) -> list[Any]:
        """Encrypt `parts`, about `ENCRYPTED_MAX` octets at most; return the rest."""
        budget, at, count = ENCRYPTED_MAX, 0, len(parts)
        octets = sum(map(len, parts))
        try:
            if octets <= budget and octets < count * LARGE_OCTETS:
                # Mostly: some hundred small parts, to be looked at one by one no more than necessary.
                if octets:
                    self._tls.write(b"".join(parts) if count > 1 else parts[0])
                return []
            while at < count and budget > 0:
                data = parts[at]
                begin, size = at, len(data)
                at += 1
                if size < LARGE_OCTETS:
                    while at < count and size < budget and len(parts[at]) < LARGE_OCTETS:
                        size += len(parts[at])
                        at += 1
                    if at - begin > 1:
                        data = b"".join(parts[begin:at])
                cut = -(-budget // RECORD_OCTETS) * RECORD_OCTETS  # after a small part, no record of what is left
                if size > cut:
                    view = memoryview(data)
                    self._tls.write(view[:cut])
                    return [view[cut:], *parts[at:]]
                if size:
                    self._tls.write(data)
                budget -= size
        except ssl.SSLError as error:
            self._fault = _explain(error)
            raise OSError(errno.EPROTO, self._fault) from None
        return parts[at:]

    def _push(self) -> bool:
        """Give the kernel what is encrypted; tell whether it took all, else go on when it can. Raises OSError."""
        octets = self._unsent or self._outgoing.read()
        try:
            while octets:
                sent = self._sock.send(octets)
                octets = memoryview(octets)[sent:] if sent < len(octets) else self._outgoing.read()
        except BlockingIOError:
            pass
        finally:
            self._unsent = octets
        if octets:
            self._watch()
        return not octets

    def _fail(self, error: OSError) -> None:
        """Have the next call of `receive` or `send` say that the peer is gone."""
        self._unsent = b""
        self._fault = error.strerror or str(error)

    # -- when to try again --------------------------------------------------------------------------------------------

    def start_writing(self, call_back: "Callable[[], None]") -> None:
        """Call back whenever something may be sent. Does nothing if that is so already."""
        self._call_back = call_back
        self._watch()

    def stop_writing(self) -> None:
        """Call nobody back for that."""
        self._call_back = None
        if not self._unsent:
            super().stop_writing()

    def silence(self) -> None:
        """Call nobody back, and keep no watchers for it."""
        self._call_back = None
        super().silence()

    def _watch(self) -> None:
        if self._writer is None:
            self._writer = self._loop.io(self._sock.fileno(), WRITE)
        if not self._writer.active:
            self._writer.start(self._on_writable)

    def _on_writable(self) -> None:
        try:
            if self._unsent and not self._push():
                return
            if self._finishing:
                self._sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            self._fail(error)
        if self._call_back is not None:
            self._call_back()
        else:
            super().stop_writing()

    # -- ends ---------------------------------------------------------------------------------------------------------

    def unacknowledged(self) -> int:
        """Return how many octets were sent that the peer's kernel has not acknowledged."""
        return super().unacknowledged() + len(self._unsent)

    def finish(self) -> None:
        """Tell the peer that nothing follows; it may still send. Raises OSError: it is gone."""
        with suppress(OSError):  # the farewell is in the buffer then; the peer's is not waited for
            self._tls.unwrap()
        if self._push():
            super().finish()
        else:
            self._finishing = True


def _explain(error: ssl.SSLError) -> str:
    return f"TLS: {(error.reason or str(error)).replace('_', ' ').lower()}"
