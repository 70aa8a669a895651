"""TlsKeeper: the contexts for new connections, and the watch over the files they are made of.

Files that changed are read when they have been the same for a moment, so that a certificate is not paired with the key
of before. If they do not fit, the old contexts stay, and the operator is told until the files fit.
"""

import logging
from typing import TYPE_CHECKING, Final, TypeAlias

import gevent

from pybroker.core.auth.certificate import CertificateError, read_certificate
from pybroker.core.auth.expiry import Expiry
from pybroker.daemon.tls.build import TLS_VERSIONS, TlsError, build, first_certificate
from pybroker.daemon.tls.certificate_files import certificate_files
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pybroker.core.broker import Broker
    from pybroker.daemon.config.tls_options import TlsOptions
    from pybroker.net.tls_context import TlsContexts

WATCH_S: Final = 30.0
STABLE_S: Final = 2.0
# Files that change all the time are not waited for.
LOOKS_MAX: Final = 10

# Of each file: when it was changed, its size, which one it is; None if it is not there.
Stamps: TypeAlias = tuple[tuple[int, int, int] | None, ...]

log = logging.getLogger("pybroker")


class TlsKeeper:
    """`current` is for new connections; those that stand keep what they began with."""

    def __init__(self, broker: "Broker", options: "TlsOptions", contexts: "TlsContexts") -> None:
        self._broker = broker
        self.options = options
        self.current = contexts
        self.expiry = Expiry(broker)
        self.expiry.replace(certificate_files(options))
        self._stamps = stamp(options.paths)
        self._notice = ""

    @property
    def versions(self) -> tuple[str, ...]:
        """Return the versions of TLS that new connections may speak: `tlsv1.2`, `tlsv1.3`."""
        lowest, highest = self.current.default.minimum_version, self.current.default.maximum_version
        return tuple(name for name, version in TLS_VERSIONS.items() if lowest <= version <= highest)

    def swap(self, options: "TlsOptions", contexts: "TlsContexts") -> None:
        """Use contexts that were built of `options` from now on."""
        self.options = options
        self.current = contexts
        self.expiry.replace(certificate_files(options))
        self._stamps = stamp(options.paths)
        self._tell("")

    def prepare(self, options: "TlsOptions") -> "TlsContexts":
        """Return contexts for `swap`. Raises TlsError: they cannot be built, or a new certificate has expired."""
        contexts = build(options)
        if options.files != self.options.files or stamp(options.paths) != self._stamps:
            self._check_expiry(options)
        return contexts

    def run(self, watch_s: float = WATCH_S, stable_s: float = STABLE_S) -> None:
        """Look again and again, in a greenlet of its own."""
        while True:
            gevent.sleep(watch_s)
            try:
                self.expiry.check()
                self.check(stable_s)
            except Exception:
                # A bug must not end the watch.
                log.exception("looking at the TLS files failed", extra=event(BUG))

    def check(self, stable_s: float = STABLE_S) -> bool:
        """Read the files if they have changed; tell whether there are new contexts."""
        options, stamps = self.options, stamp(self.options.paths)
        if stamps == self._stamps:
            return False
        for _ in range(LOOKS_MAX):
            gevent.sleep(stable_s)
            before, stamps = stamps, stamp(options.paths)
            if stamps == before:
                break
        else:
            return False
        if options is not self.options:
            return False  # somebody else has read them
        self._stamps = stamps
        try:
            contexts = build(options)
            self._check_expiry(options)
        except TlsError as error:
            self._tell(f"TLS: {error.text}; new connections still get the certificate of before")
            return False
        self.swap(options, contexts)
        log.info("new connections get the certificate in %s", options.files.certificate, extra=event("tls.reloaded"))
        return True

    def _check_expiry(self, options: "TlsOptions") -> None:
        """Refuse a new certificate that has expired: the old one cannot be worse. Raises TlsError."""
        now_s = self._broker.clock.timestamp_ms / 1000
        for files in (options.files, *options.by_name.values()):
            try:
                certificate = read_certificate(first_certificate(files.certificate))
            except CertificateError as error:
                raise TlsError(f"{files.certificate}: {error}") from None
            if certificate.ends_at <= now_s:
                raise TlsError(f"{files.certificate}: the certificate has expired ({certificate.validity})")

    def _tell(self, notice: str) -> None:
        if self._notice:
            self._broker.withdraw_notice(self._notice)
        self._notice = notice
        if notice:
            log.error(notice, extra=event("tls.files_refused"))
            self._broker.notice(notice)


def stamp(paths: "Iterable[Path]") -> Stamps:
    """Return what tells a changed file from the one of before, of each path."""
    return tuple(_stamp(path) for path in paths)


def _stamp(path: "Path") -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
