"""Certificates of HTTPS: the same contexts as AMQP's listeners have, and the watch over their files."""

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import gevent
from gevent import ssl as gevent_ssl

from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.daemon.tls.build import TlsError, build
from pybroker.daemon.tls.certificate_files import TooEarly, certificate_files, check_dates
from pybroker.daemon.tls.stamps import stamps_of
from pybroker.net.tls_context import Untrusted, hush

__all__ = ("Certificates", "TlsError")

# Files that changed are read when they are the same at the next look: a certificate is not paired with an old key.
WATCH_S: Final = 5.0


class Certificates:
    """The contexts for new connections. `tell` is for the operator."""

    def __init__(self, options: Mapping[str, Any], tell: Callable[[str], object]) -> None:
        """Read the files. Raises TlsError."""
        self._options = read_options(options)
        self._tell = tell
        self._stamps = self._seen = stamps_of(self._options.paths)
        self._contexts = build(self._options, gevent_ssl.SSLContext)
        self._files = certificate_files(self._options)
        self._refused = ""  # why the files of now are not used
        sys.unraisablehook = hush

    def accept(self, peer: Any) -> Any:
        """Return a connection after its handshake. Raises OSError: it failed, or the client is not to be trusted."""
        tls: Any = self._contexts.default.wrap_socket(peer, server_side=True, do_handshake_on_connect=False)
        try:
            tls.do_handshake()
            self._contexts.admit(tls)
        except Untrusted as error:
            tls.close()
            raise ConnectionError(str(error)) from None
        except BaseException:
            tls.close()
            raise
        return tls

    def run(self) -> None:
        """Look again and again."""
        while True:
            gevent.sleep(WATCH_S)
            self.check()

    def check(self) -> None:
        """Read files that have changed and are as they were at the last look; keep the old ones if they do not fit."""
        seen, self._seen = self._seen, stamps_of(self._options.paths)
        if self._seen == self._stamps or self._seen != seen:
            return
        self._stamps = self._seen
        try:
            contexts, files = build(self._options, gevent_ssl.SSLContext), certificate_files(self._options)
            check_dates(files, self._files, time.time())
        except TlsError as error:
            if isinstance(error, TooEarly):
                self._stamps = ()  # looked at again until it is valid
            if error.text != self._refused:
                self._tell(f"TLS: {error.text}; new connections still get the previous certificate")
            self._refused = error.text
        else:
            self._contexts, self._files, self._refused = contexts, files, ""
            self._tell(f"new connections get the certificate in {self._options.files.certificate}")


def read_options(document: Mapping[str, Any]) -> TlsOptions:
    """Return the options that the node tells."""
    certificate, key = document["files"]
    authorities, dh_parameters = document["authorities"], document["dh_parameters"]
    return TlsOptions(
        files=Files(Path(certificate), Path(key)),
        by_name={name: Files(*map(Path, files)) for name, files in document["by_name"].items()},
        password=document["password"],
        authorities=None if authorities is None else Path(authorities),
        verify=document["verify"],
        required=document["required"],
        depth=document["depth"],
        versions=tuple(document["versions"]),
        ciphers=tuple(document["ciphers"]),
        honor_order=document["honor_order"],
        dh_parameters=None if dh_parameters is None else Path(dh_parameters),
        head=document["head"],
    )
