"""TlsKeeper: the contexts for new connections, and the watch over the files they are made of.

Files that changed are read when they have been the same for a moment, so that a certificate is not paired with the key
of before. If they do not fit, the old contexts stay, and the operator is told until the files fit.
"""

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

import gevent

from pybroker.core.auth.expiry import CertificateFile, Expiry
from pybroker.daemon.tls.build import TLS_VERSIONS, TlsError, build
from pybroker.daemon.tls.certificate_files import TooEarly, certificate_files, check_dates
from pybroker.daemon.tls.stamps import Stamps, stamps_of
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.daemon.config.tls_options import TlsOptions
    from pybroker.net.tls_context import TlsContexts

WATCH_S: Final = 30.0
STABLE_S: Final = 2.0
# Files that change all the time are not waited for.
LOOKS_MAX: Final = 10

log = logging.getLogger("pybroker")


class Prepared(NamedTuple):
    """Contexts made of `options`, the certificates in their files, and the stamps of these before they were read."""

    options: "TlsOptions"
    contexts: "TlsContexts"
    files: list[CertificateFile]
    stamps: Stamps


class TlsKeeper:
    """`current` is for new connections; those that stand keep what they began with."""

    def __init__(self, broker: "Broker", options: "TlsOptions") -> None:
        """Build the first contexts. Raises TlsError."""
        self._broker = broker
        self.expiry = Expiry(broker)
        self._notice = ""
        self.swap(_read(options))

    @property
    def versions(self) -> tuple[str, ...]:
        """Return the versions of TLS that new connections may speak: `tlsv1.2`, `tlsv1.3`."""
        lowest, highest = self.current.default.minimum_version, self.current.default.maximum_version
        return tuple(name for name, version in TLS_VERSIONS.items() if lowest <= version <= highest)

    def swap(self, prepared: Prepared) -> None:
        """Use what `prepare` has made from now on."""
        self.options = prepared.options
        self.current = prepared.contexts
        self.expiry.replace(prepared.files)
        self._stamps = prepared.stamps
        self._tell("")

    def reload(self, prepared: Prepared) -> str | None:
        """Swap because the configuration is reloaded; log and tell it if the files have changed or were refused."""
        other = bool(self._notice) or prepared.stamps != self._stamps
        self.swap(prepared)
        if not other:
            return None
        self._log_reloaded()
        return f"new connections get the certificate in {self.options.files.certificate}"

    def prepare(self, options: "TlsOptions") -> Prepared:
        """Return contexts for `swap`. Raises TlsError: they cannot be built, or a new certificate has expired."""
        prepared = _read(options)
        check_dates(prepared.files, self.expiry.files, self._broker.clock.timestamp_ms / 1000)
        return prepared

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
        options, stamps = self.options, stamps_of(self.options.paths)
        if stamps == self._stamps:
            return False
        for _ in range(LOOKS_MAX):
            gevent.sleep(stable_s)
            before, stamps = stamps, stamps_of(options.paths)
            if stamps == before:
                break
        else:
            return False
        if options is not self.options:
            return False  # somebody else has read them
        self._stamps = stamps
        try:
            prepared = self.prepare(options)
        except TlsError as error:
            if isinstance(error, TooEarly):
                self._stamps = ()  # looked at again until it is valid
            self._tell(f"TLS: {error.text}; new connections still get the previous certificate")
            return False
        self.swap(prepared)
        self._log_reloaded()
        return True

    def _log_reloaded(self) -> None:
        file = self.options.files.certificate
        log.info("new connections get the certificate in %s", file, extra=event("tls.reloaded"))

    def _tell(self, notice: str) -> None:
        if notice == self._notice:
            return
        if self._notice:
            self._broker.notices.withdraw(self._notice)
        self._notice = notice
        if notice:
            log.error(notice, extra=event("tls.files_refused"))
            self._broker.notices.add(notice)


def _read(options: "TlsOptions") -> Prepared:
    """Read the files. Raises TlsError. The stamps are from before: what changes meanwhile is read again."""
    stamps = stamps_of(options.paths)
    return Prepared(options, build(options), certificate_files(options), stamps)
