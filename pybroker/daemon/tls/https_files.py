"""HttpsFiles: the watch over the ends of HTTPS' certificates. pybroker-web makes contexts of the files by itself."""

import logging
from typing import TYPE_CHECKING, Final

import gevent

from pybroker.core.auth.expiry import Expiry
from pybroker.daemon.tls.certificate_files import certificate_files
from pybroker.daemon.tls.keeper import WATCH_S
from pybroker.daemon.tls.stamps import stamps_of
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.daemon.config.tls_options import TlsOptions

HTTPS: Final = "https"

log = logging.getLogger("pybroker")


class HttpsFiles:
    """The certificates in the files that `options` name."""

    def __init__(self, broker: "Broker", options: "TlsOptions") -> None:
        self.expiry = Expiry(broker)
        self._options = options
        self.read()

    def read(self) -> None:
        """Read the files."""
        self._stamps = stamps_of(self._options.paths)
        self.expiry.replace(certificate_files(self._options, HTTPS))

    def check(self) -> None:
        """Read files that have changed; tell of certificates that end."""
        if stamps_of(self._options.paths) != self._stamps:
            self.read()
        self.expiry.check()

    def run(self, watch_s: float = WATCH_S) -> None:
        """Look again and again, in a greenlet of its own."""
        while True:
            gevent.sleep(watch_s)
            try:
                self.check()
            except Exception:
                # A bug must not end the watch.
                log.exception("looking at the files of HTTPS failed", extra=event(BUG))
