"""TlsContexts: what handshakes need of a configuration that was read: contexts by name, and who is let in.

Built whole by `daemon/tls/` and replaced whole, so a handshake sees one of them to its end. Used by threads and by the
loop; `_lock` guards what they share. Knows OpenSSL, no files.
"""

import ssl
import sys
import time
from collections.abc import Mapping
from hashlib import sha256
from threading import Lock
from typing import Any, Final

from pybroker.core.auth.certificate import certificate_of
from pybroker.tls_facts import TlsFacts, agreed

# As many as OpenSSL keeps.
SESSIONS_MAX: Final = 20_480


class Untrusted(Exception):
    """A handshake succeeded, and yet the peer is not let in; the text says why."""


class TlsContexts:
    """`default` and the contexts of other names that clients ask for (SNI, in lower case).

    A context of a name has the default's rules, and a certificate of its own. With `verifies` a client's certificate
    may have `depth` authorities between itself and a trusted one.
    """

    def __init__(
        self, default: ssl.SSLContext, by_name: Mapping[str, ssl.SSLContext], *, verifies: bool, depth: int
    ) -> None:
        self.default = default
        self.by_name = dict(by_name)
        self.verifies = verifies
        self.depth = depth
        self._lock = Lock()
        # Digest -> end of each certificate that was let in. Not by session: Python loses 5 KiB whenever it is asked for
        # an `SSLObject.session`.
        self._accepted: dict[bytes, float] = {}
        if by_name:
            default.sni_callback = self._choose

    def wrap(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> ssl.SSLObject:
        """Return the server's side of a new connection."""
        return self.default.wrap_bio(incoming, outgoing, server_side=True)

    def _choose(self, tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        context = self.by_name.get((name or "").lower())
        if context is not None:
            tls.context = context

    def admit(self, tls: ssl.SSLObject) -> TlsFacts:
        """Return what a finished handshake agreed on.

        Raises:
            Untrusted: the client's certificate is too deep, or was resumed, but has expired or was never let in.

        """
        cipher = tls.cipher()
        assert cipher is not None
        certificate = b""
        if self.verifies:
            certificate = tls.getpeercert(binary_form=True) or b""
            if certificate:
                self._check(tls, sha256(certificate).digest())
        facts = agreed(tls.version() or "", cipher[0], certificate)
        # With a client's certificate this runs in a thread, so the loop finds the certificate read.
        certificate_of(facts)
        return facts

    def _check(self, tls: ssl.SSLObject, digest: bytes) -> None:
        if tls.session_reused:
            # OpenSSL verified the certificate when the session began, and looks at neither dates nor depth again.
            if self._accepted.get(digest, 0.0) <= time.time():
                raise Untrusted("the resumed session's client certificate has expired or was never accepted")
            return
        # Differs from RabbitMQ: its handshake fails. Python cannot tell OpenSSL the depth before it.
        between = _chain_length(tls) - 2
        if between > self.depth:
            raise Untrusted(
                f"{between} authorities between the client's certificate and a trusted one, at most {self.depth} "
                "are allowed (ssl_options.depth)"
            )
        found = tls.getpeercert()
        assert found is not None
        with self._lock:  # another thread must not change it while this one looks for the oldest
            self._accepted.pop(digest, None)
            while len(self._accepted) >= SESSIONS_MAX:
                del self._accepted[next(iter(self._accepted))]
            self._accepted[digest] = ssl.cert_time_to_seconds(str(found["notAfter"]))


def _chain_length(tls: ssl.SSLObject) -> int:
    """Return how many certificates the verified chain has, the client's and the trusted one included."""
    # Public from Python 3.13 on.
    inner = tls if hasattr(tls, "get_verified_chain") else tls._sslobj  # type: ignore[attr-defined]
    return len(inner.get_verified_chain())


def hush(unraisable: Any) -> None:
    """Say nothing of a name (SNI) that is not ASCII: Python refuses it, and would print a traceback for each."""
    if not (isinstance(unraisable.exc_value, UnicodeDecodeError) and isinstance(unraisable.object, bytes)):
        sys.__unraisablehook__(unraisable)
