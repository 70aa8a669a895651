"""TlsHandshake: the step of a preamble that turns a plain transport into one of TLS.

OpenSSL works in a thread, on whole records: a peer that sends them octet by octet costs no more than its socket. Brief
work is done on the loop: to wait for a thread that needs the interpreter costs the loop more. Other protocols are named
in the log, and their connections closed.
"""

import logging
import ssl
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from pybroker.first_octets import name_protocol
from pybroker.log_event import BUG, event
from pybroker.net.preamble import Step
from pybroker.net.tls_context import Untrusted
from pybroker.net.tls_transport import TlsTransport
from pybroker.tls_facts import TlsFacts

if TYPE_CHECKING:
    from pybroker.net.handshake_line import HandshakeLine
    from pybroker.net.preamble import Preamble
    from pybroker.net.tls_context import TlsContexts

READ_OCTETS: Final = 16_384
HEADER_OCTETS: Final = 5
# Types of records (RFC 8446 5.1).
CHANGE_CIPHER_SPEC: Final = 20
HANDSHAKE_RECORD: Final = 22
APPLICATION_DATA: Final = 23
CHANGE_CIPHER_SPEC_OCTETS: Final = 6
# A record of TLS has at most this many octets behind its header; OpenSSL refuses what claims more.
RECORD_OCTETS_MAX: Final = 16_640
# OpenSSL's reasons that need more words, or other ones.
_REASONS: Final = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client sent no certificate",
    "NO_SHARED_CIPHER": "the client supports none of the configured ciphers",
    "UNSUPPORTED_PROTOCOL": "the client supports none of the configured TLS versions",
    "VERSION_TOO_LOW": "the client supports none of the configured TLS versions",
    "CALLBACK_FAILED": "the name that the client asks for (SNI) is not ASCII",
    "HTTP_REQUEST": "plain HTTP instead of a TLS handshake",
    "INTERNAL_ERROR": "the client's keys or records cannot be used",
    "INVALID_ALERT": "the client sent an alert that does not exist",
    "TOO_MANY_WARN_ALERTS": "the client sent too many warnings",
}

log = logging.getLogger("pybroker.connection")


class Source(Protocol):
    """A keeper of the contexts for new connections."""

    current: "TlsContexts"


class TlsHandshake(Step):
    """Invariant: while a job is under way the loop touches neither `_tls` nor its two BIOs."""

    __slots__ = ("_contexts", "_incoming", "_line", "_outgoing", "_tls", "_unread", "stopped")

    waits_for = "the TLS handshake"

    def __init__(self, source: Source, line: "HandshakeLine", timeout_ms: int, preamble: "Preamble") -> None:
        super().__init__(preamble)
        preamble.deadline_ms = min(preamble.deadline_ms, preamble.peer.accepted_ms + timeout_ms)
        self._contexts = source.current
        self._line = line
        self._tls: ssl.SSLObject | None = None
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._unread = b""  # part of a record
        self.stopped = False

    def begin(self) -> None:
        """Wait for the ClientHello."""
        self.listen()

    def stop(self) -> None:
        """Ignore what the threads still find."""
        self.stopped = True
        self._line.leave(self)

    @property
    def address(self) -> str:
        """Return the client's address."""
        return self.preamble.peer.address[0]

    def give_way(self) -> None:
        """End in favour of others: too many have begun, and this one waits for its client."""
        self.preamble.refuse("the TLS handshake took long, and made room for others")

    def heard(self) -> None:
        """Go on with the handshake if there is a whole record."""
        preamble = self.preamble
        try:
            octets = preamble.transport.receive(READ_OCTETS)
        except BlockingIOError:
            self.listen()
            return
        except OSError as error:
            preamble.peer_left(f"{error.strerror or error}")
            return
        if not octets:
            preamble.peer_left("the client closed the connection during the TLS handshake")
            return
        preamble.began = True
        octets = self._unread + octets
        if self._tls is None and octets[0] != HANDSHAKE_RECORD:
            preamble.refuse(f"{name_protocol(octets)} instead of a TLS handshake")
            return
        whole = whole_records(octets)
        self._unread = octets[whole:]
        if not whole:
            self.listen()
        elif self._tls is None:
            self._hand_over(octets[:whole])
        else:
            preamble.do_later("TLS", partial(self._hand_over, octets[:whole]))

    def _hand_over(self, octets: bytes) -> None:
        """Have OpenSSL go on with whole records: in a thread if that may take more than some microseconds."""
        result: Any = None
        is_brief = self._tls is not None and not self._contexts.verifies and is_encrypted(octets)
        try:
            if self._tls is None:
                # Python gives up the interpreter twice meanwhile, and a thread would have to wait for it as often.
                self._tls = self._contexts.wrap(self._incoming, self._outgoing)
            elif is_brief:
                result = self._work(octets)
        except Exception as error:  # noqa: BLE001 - as if a thread had met it
            is_brief, result = True, error
        if is_brief:
            self._worked(result)
        else:
            self._line.submit(self, partial(self._work, octets), self._worked)

    def _work(self, octets: bytes) -> TlsFacts | None:
        """Go on with the handshake, mostly in a thread; return what was agreed on once it is over."""
        assert self._tls is not None
        self._incoming.write(octets)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return None
        return self._contexts.admit(self._tls)

    def _worked(self, result: Any) -> None:
        if not self.stopped:
            self.preamble.do_later("answer", partial(self._go_on, result))

    def _go_on(self, result: Any) -> None:
        """Send what OpenSSL answers, and do what follows."""
        preamble, answer = self.preamble, self._outgoing.read()
        if isinstance(result, Untrusted):
            # Nothing of the answer leaves: OpenSSL then forgets the session, so nobody resumes it.
            preamble.refuse(str(result))
            return
        try:
            answered = not answer or not preamble.transport.send([answer])
        except OSError as error:
            preamble.peer_left(f"{error.strerror or error}")
            return
        if isinstance(result, Exception):
            if not isinstance(result, ssl.SSLError):
                log.error("internal error in a TLS handshake", exc_info=result, extra=event(BUG))
            preamble.refuse(f"the TLS handshake failed: {explain(result)}")
        elif not answered:
            # It fits into every socket's buffer, but for a peer that made that tiny.
            preamble.refuse("the client does not read the TLS handshake")
        elif result is None:
            self.listen()
        else:
            assert self._tls is not None
            self._line.leave(self)
            self._incoming.write(self._unread)
            preamble.transport = TlsTransport(preamble.transport, self._tls, self._incoming, self._outgoing)
            preamble.peer = preamble.peer._replace(tls=result)
            preamble.passed()


def whole_records(octets: bytes) -> int:
    """Return how many of the octets are whole records; all of them if one claims more than it may have."""
    at = 0
    while len(octets) - at >= HEADER_OCTETS:
        length = int.from_bytes(octets[at + 3 : at + HEADER_OCTETS])
        if length > RECORD_OCTETS_MAX:
            return len(octets)
        if len(octets) - at < HEADER_OCTETS + length:
            break
        at += HEADER_OCTETS + length
    return at


def is_encrypted(octets: bytes) -> bool:
    """Tell whether a flight is the last one of TLS 1.3: without a certificate, OpenSSL has 20 us to do for it.

    Its records are encrypted, all of them. One of another type may be in front (RFC 8446 D.4); one anywhere else may be
    a second ClientHello behind what OpenSSL ignores, and is a thread's work.
    """
    at = CHANGE_CIPHER_SPEC_OCTETS if octets[0] == CHANGE_CIPHER_SPEC else 0
    if at >= len(octets):
        return False
    while at < len(octets):
        if octets[at] != APPLICATION_DATA:
            return False
        at += HEADER_OCTETS + int.from_bytes(octets[at + 3 : at + HEADER_OCTETS])
    return True


def explain(error: Exception) -> str:
    """Return OpenSSL's reason as a sentence's end: `the client's certificate is not trusted: ...`."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLZeroReturnError):
        return "the client ended the TLS connection"
    if not isinstance(error, ssl.SSLError):
        return str(error) or type(error).__name__
    reason: str = error.reason or ""
    if reason in _REASONS:
        return _REASONS[reason]
    if "ALERT_" in reason:
        return f"the client gave up: {reason.partition('ALERT_')[2].replace('_', ' ').lower()}"
    # OpenSSL has no words for some, and Python has a line of its own code for them.
    return reason.replace("_", " ").lower() or "the client broke the protocol"
