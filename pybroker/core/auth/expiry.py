"""The end of certificates: operators learn of it 30 and 7 days before, and when it has come, once each.

The daemon says which ones there are; this file reads none.
"""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.core.auth.certificate import Certificate
from pybroker.log_event import event

if TYPE_CHECKING:
    from pybroker.core.broker import Broker

DAY_S: Final = 86_400
# Days before the end on which operators are told, the nearest first.
DAYS: Final = (0, 7, 30)

log = logging.getLogger("pybroker")


class CertificateFile(NamedTuple):
    """A configured file: of the node itself, or of trusted authorities. `host` is the name that clients ask for (SNI),
    `protocol` that of the listeners that it is for.

    A file of the node begins with its own certificate; the authorities between it and a trusted one follow.
    """

    path: str
    certificates: tuple[Certificate, ...]
    of_authorities: bool = False
    host: str = ""
    protocol: str = "amqp/ssl"


class Expiry:
    """The watch over the certificates in use."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.files: tuple[CertificateFile, ...] = ()
        self._told: dict[tuple[str, Certificate], tuple[int, str]] = {}  # the days before, and the notice

    def replace(self, files: Iterable[CertificateFile]) -> None:
        """Watch these files from now on; notices of others, and of certificates that were replaced, are withdrawn."""
        self.files = tuple(files)
        known = {(file.path, certificate) for file in self.files for certificate in file.certificates}
        for key in [key for key in self._told if key not in known]:
            self._broker.notices.withdraw(self._told.pop(key)[1])
        self.check()

    def check(self) -> None:
        """Tell of each certificate that has come nearer to its end than was told before. Called now and then."""
        now_s = self._broker.clock.timestamp_ms // 1000
        for file in self.files:
            for certificate in file.certificates:
                days = next((days for days in DAYS if certificate.ends_at <= now_s + days * DAY_S), None)
                key = file.path, certificate
                told = self._told.get(key)
                if days is not None and (told is None or days < told[0]):
                    if told is not None:
                        self._broker.notices.withdraw(told[1])
                    notice = _sentence(file, certificate, days)
                    self._told[key] = days, notice
                    self._warn(file, certificate, days, notice)

    def _warn(self, file: CertificateFile, certificate: Certificate, days: int, notice: str) -> None:
        if notice in self._broker.notices:
            return  # listeners of another protocol have the same file
        subject, ends = certificate.subject[:256], certificate.end
        if days:
            expiring = event("tls.certificate_expiring", file=file.path, subject=subject, ends=ends)
            log.warning(notice, extra=expiring)
        else:
            log.error(notice, extra=event("tls.certificate_expired", file=file.path, subject=subject, ends=ends))
        self._broker.notices.add(notice)


def _sentence(file: CertificateFile, certificate: Certificate, days: int) -> str:
    whose = "authority's certificate" if file.of_authorities else "certificate"
    name = f"{certificate.subject:.128}" or certificate.serial_number
    when = f"expires in less than {days} days" if days else "has expired"
    return f"The {whose} {name} in {file.path} {when} ({certificate.end} UTC): replace it"
