"""X.509 certificates: what RabbitMQ shows of one, until when it is valid, and whom it names as a user.

Names are formatted by RFC 4514 as RabbitMQ does it (rabbit_cert_info.erl), so that its users keep their names. They
come from outside: whatever a subject holds, its text is printable ASCII; other names are as they were written.
`cryptography` is loaded with the first certificate, because a node without TLS has none.
"""

import warnings
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cryptography import x509

    from pybroker.tls_facts import TlsFacts

# The SASL mechanism: the peer's certificate says who it is.
EXTERNAL: Final = "EXTERNAL"
DISTINGUISHED_NAME: Final = "distinguished_name"
COMMON_NAME: Final = "common_name"
ALTERNATIVE_NAME: Final = "subject_alternative_name"
# Values of `ssl_cert_login_from`; the last one is another word for an alternative name.
LOGIN_FROM: Final = (DISTINGUISHED_NAME, COMMON_NAME, ALTERNATIVE_NAME, "subject_alt_name")
# Values of `ssl_cert_login_san_type`, and the class of cryptography's that such names have.
_NAME_CLASSES: Final = {
    "dns": "DNSName",
    "ip": "IPAddress",
    "email": "RFC822Name",
    "uri": "UniformResourceIdentifier",
    "other_name": "OtherName",
}
NAME_TYPES: Final = tuple(_NAME_CLASSES)

# Characters of a name that count: no user's name is that long, and no listing or event is to carry more.
NAME_MAX: Final = 4_096
# Connections that come again and again bring few certificates.
_KNOWN_MAX: Final = 256

# As RabbitMQ abbreviates them; of others the object identifier is shown.
_ATTRIBUTES: Final = {
    "2.5.4.4": "SN",
    "2.5.4.42": "GIVENNAME",
    "2.5.4.43": "INITIALS",
    "2.5.4.44": "GENERATIONQUALIFIER",
    "2.5.4.3": "CN",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.12": "TITLE",
    "2.5.4.6": "C",
    "2.5.4.5": "SERIALNUMBER",
    "2.5.4.65": "PSEUDONYM",
    "0.9.2342.19200300.100.1.25": "DC",
    "1.2.840.113549.1.9.1": "EMAILADDRESS",
    "0.9.2342.19200300.100.1.1": "UID",
}
_COMMON_NAME_ID: Final = "2.5.4.3"
_SPECIAL: Final = frozenset(b'"+,;<>\\')
# DER's tags of texts, and how these are encoded.
_TEXTS: Final = {
    0x0C: "utf-8",
    0x13: "ascii",  # PrintableString
    0x14: "latin-1",  # TeletexString, as it is used
    0x16: "ascii",  # IA5String
    0x1C: "utf-32-be",  # UniversalString
    0x1E: "utf-16-be",  # BMPString
}


class CertificateError(ValueError):
    """The octets are no certificate that can be read."""


class Certificate(NamedTuple):
    """One certificate. Names are capped at NAME_MAX characters, and end in `...` if they were longer.

    `alternative_names` are pairs of a type (`dns`, `ip`, ...) and a name; `starts_at` and `ends_at` are seconds since
    1970.
    """

    subject: str
    issuer: str
    serial_number: str
    validity: str
    starts_at: int
    ends_at: int
    common_names: tuple[str, ...]
    alternative_names: tuple[tuple[str, str], ...]

    @property
    def start(self) -> str:
        """Return from when on it is valid: `2026-11-27 19:21:22`, UTC."""
        return _time(self.starts_at)

    @property
    def end(self) -> str:
        """Return until when it is valid, likewise."""
        return _time(self.ends_at)

    def login_name(self, login_from: str, name_type: str, index: int) -> str:
        """Return the user that it stands for, empty if it names none. The last two choose an alternative name."""
        if login_from == DISTINGUISHED_NAME:
            name = self.subject
        elif login_from == COMMON_NAME:
            name = ",".join(self.common_names)
        else:
            names = [name for kind, name in self.alternative_names if kind == name_type]
            name = names[index] if index < len(names) else ""
        return name if len(name) <= NAME_MAX else ""


NO_CERTIFICATE: Final = Certificate("", "", "", "", 0, 0, (), ())


def certificate_of(tls: "TlsFacts | None") -> Certificate:
    """Return a peer's certificate; one that names nobody if it brought none, or one that cannot be read."""
    if tls is None or not tls.certificate:
        return NO_CERTIFICATE
    try:
        return read_certificate(tls.certificate)
    except CertificateError:
        return NO_CERTIFICATE


@lru_cache(_KNOWN_MAX)
def read_certificate(der: bytes) -> Certificate:
    """Return a certificate. Raises CertificateError."""
    try:
        return _described(_x509().load_der_x509_certificate(der))
    except Exception as error:  # the library's errors have no class in common
        raise CertificateError(str(error)) from error


@cache
def _x509() -> Any:
    """Return the library."""
    from cryptography import x509  # noqa: PLC0415 - see above

    # It warns of names and numbers that X.520 forbids: a peer's certificate must not fill the daemon's stderr.
    warnings.filterwarnings("ignore", module=__name__.replace(".", "[.]"))
    return x509


def _described(certificate: "x509.Certificate") -> Certificate:
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    subject = certificate.subject
    return Certificate(
        subject=_capped(_distinguished_name(subject)),
        issuer=_capped(_distinguished_name(certificate.issuer)),
        serial_number=f"{certificate.serial_number:X}",
        validity=f"{start:%Y-%m-%dT%H:%M:%SZ} - {end:%Y-%m-%dT%H:%M:%SZ}",
        starts_at=int(start.timestamp()),
        ends_at=int(end.timestamp()),
        common_names=tuple(
            _capped(each.value)
            for rdn in subject.rdns
            for each in rdn
            if each.oid.dotted_string == _COMMON_NAME_ID and isinstance(each.value, str)
        ),
        alternative_names=tuple(_alternative_names(certificate)),
    )


def _time(time_s: int) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _capped(name: str) -> str:
    """Return a name that `login_name` refuses if it was longer."""
    return name if len(name) <= NAME_MAX else f"{name[:NAME_MAX]}..."


def _distinguished_name(name: "x509.Name") -> str:
    """Return a name as RFC 4514 has it: the last part first, several attributes of one part joined by `+`."""
    return ",".join("+".join(map(_attribute, rdn)) for rdn in reversed(name.rdns))


def _attribute(attribute: Any) -> str:
    identifier = attribute.oid.dotted_string
    name = _ATTRIBUTES.get(identifier, identifier)
    # Differs from RabbitMQ: it shows what is no text, and an IA5String of an unknown type, as an Erlang binary.
    if isinstance(attribute.value, bytes):
        return f"{name}=#{attribute.value.hex()}"
    return f"{name}={_escaped(attribute.value[: NAME_MAX + 1])}"


def _escaped(value: str) -> str:
    """Return a value with all escaped that RFC 4514 wants so, and all that is not printable ASCII."""
    octets = value.encode(errors="surrogatepass")
    shown = "".join(
        f"\\{chr(octet)}" if octet in _SPECIAL else chr(octet) if 32 <= octet < 126 else f"\\{octet:02X}"
        for octet in octets
    )
    if shown.startswith((" ", "#")):
        shown = f"\\{shown}"
    if len(octets) > 1 and shown.endswith(" "):
        shown = f"{shown[:-1]}\\ "
    return shown


def _alternative_names(certificate: "x509.Certificate") -> "Iterator[tuple[str, str]]":
    """Yield type and text of each alternative name; of an extension that cannot be read, none."""
    x509 = _x509()
    kinds = {getattr(x509, name): kind for kind, name in _NAME_CLASSES.items()}
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except Exception:  # noqa: BLE001 - it is missing, or damaged; see above
        return
    for name in names:
        kind = kinds.get(type(name))
        text = _text(name.value) if kind == "other_name" else str(name.value)
        if kind is not None and text is not None:
            # Differs from RabbitMQ: its name of an address is the address's octets, which nobody can type.
            yield kind, _capped(text)


def _text(der: bytes) -> str | None:
    """Return a text that is encoded in DER; None if this is none."""
    encoding = _TEXTS.get(der[0]) if der else None
    if encoding is None or len(der) < 2:
        return None
    length, start = der[1], 2
    if length >= 0x80:
        start += length - 0x80
        length = int.from_bytes(der[2:start])
    octets = der[start : start + length]
    if len(octets) != length or start + length != len(der):
        return None
    try:
        return octets.decode(encoding)
    except UnicodeDecodeError:
        return None
