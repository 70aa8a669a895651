"""The certificates in the files that TLS is configured with, read so that their ends can be watched."""

import re
from base64 import b64decode
from typing import TYPE_CHECKING, Final

from pybroker.core.auth.certificate import Certificate, CertificateError, read_certificate
from pybroker.core.auth.expiry import CertificateFile
from pybroker.daemon.config.plain_file import read_octets
from pybroker.daemon.tls.build import FILE_OCTETS_MAX, TlsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pybroker.daemon.config.tls_options import TlsOptions

_PEM: Final = re.compile(
    "-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----([A-Za-z0-9+/=\\s]*)-----END (?:TRUSTED |X509 )?CERTIFICATE-----"
)


class TooEarly(TlsError):
    """A new certificate is refused now, and will be valid later."""


def check_dates(files: "Iterable[CertificateFile]", before: "Iterable[CertificateFile]", now_s: float) -> None:
    """Refuse new certificates of the node's own that are not valid now: those in use cannot be worse.

    Raises TlsError: one has expired; TooEarly.
    """
    known = [certificate for file in before for certificate in file.certificates]
    for file in files:
        own = next(iter(file.certificates), None)
        if file.of_authorities or own is None or own in known:
            continue
        if own.ends_at <= now_s:
            raise TlsError(f"{file.path}: the certificate has expired ({own.validity})")
        if own.starts_at > now_s:
            raise TooEarly(f"{file.path}: the certificate is not valid before {own.start} UTC")


def certificate_files(options: "TlsOptions", protocol: str = "amqp/ssl") -> list[CertificateFile]:
    """Return the node's own files, those of names that clients ask for, and the trusted authorities, for a protocol.

    OpenSSL has accepted the files. A certificate that cannot be read here is left out, and a file that is gone as well.
    """
    files = [CertificateFile(str(options.files.certificate), _certificates(options.files.certificate))]
    files += [
        CertificateFile(str(each.certificate), _certificates(each.certificate), host=host)
        for host, each in options.by_name.items()
    ]
    if options.authorities is not None:
        files.append(CertificateFile(str(options.authorities), _certificates(options.authorities), of_authorities=True))
    return [file._replace(protocol=protocol) for file in files]


def _certificates(path: "Path") -> tuple[Certificate, ...]:
    found = []
    try:
        text = read_octets(path, FILE_OCTETS_MAX).decode("latin-1")
    except OSError:
        return ()
    for encoded in _PEM.findall(text):
        try:
            found.append(read_certificate(b64decode(encoded)))
        except (CertificateError, ValueError):
            continue
    return tuple(found)
