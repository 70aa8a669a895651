"""Certificates for tests, as files in a folder: authorities, servers, and clients right and wrong."""

import ipaddress
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = timedelta(days=1)


class Pair(NamedTuple):
    """Paths of a certificate and its key (PEM)."""

    certificate: Path
    key: Path

    @property
    def der(self) -> bytes:
        found = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        return found.public_bytes(serialization.Encoding.DER)


class Authority:
    """An authority in a folder; `certificate` is what trusts it. With `parent` it is an intermediate one."""

    def __init__(self, folder: Path, name: str = "authority", parent: "Authority | None" = None) -> None:
        self.folder = folder
        self.parent = parent
        self.subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"pybroker test {name}")])
        self.private_key = ec.generate_private_key(ec.SECP256R1())
        usage = {
            **dict.fromkeys(("digital_signature", "key_cert_sign", "crl_sign"), True),
            **dict.fromkeys(("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False),
            **dict.fromkeys(("encipher_only", "decipher_only"), False),
        }
        built = (
            self._builder(self.subject, self.private_key.public_key(), -DAY, 365 * DAY, parent or self)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .sign((parent or self).private_key, hashes.SHA256())
        )
        self.pem = built.public_bytes(serialization.Encoding.PEM)
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(self.pem)

    def server(self, name: str = "server", names: Iterable[str] = ("localhost", "127.0.0.1", "::1"), **more) -> Pair:
        """Issue a certificate for a server that is reached under `names`; `more` as in `issue`."""
        names = list(names)
        subject = {NameOID.COMMON_NAME: names[0]}
        return self.issue(name, subject, [_san(each) for each in names], ExtendedKeyUsageOID.SERVER_AUTH, **more)

    def client(self, name: str = "client", common_name: str = "guest", sans: Iterable = (), **more) -> Pair:
        """Issue a certificate for a client; `subject` (OID -> value) and the others of `issue` can be given."""
        subject = more.pop("subject", {NameOID.COMMON_NAME: common_name})
        return self.issue(name, subject, sans, ExtendedKeyUsageOID.CLIENT_AUTH, **more)

    def issue(
        self,
        name: str,
        subject: dict[x509.ObjectIdentifier, str],
        sans: Iterable[x509.GeneralName],
        usage: x509.ObjectIdentifier,
        *,
        begins: timedelta = -DAY,
        ends: timedelta = 90 * DAY,
        password: str = "",
        with_rsa: bool = False,
    ) -> Pair:
        """Write NAME.pem, the certificate and the intermediate authorities behind it, and NAME.key; begin and end
        count from now, an expired one ends before it.
        """
        made = rsa.generate_private_key(65_537, 2_048) if with_rsa else ec.generate_private_key(ec.SECP256R1())
        whole = x509.Name([x509.NameAttribute(oid, value) for oid, value in subject.items()])
        builder = self._builder(whole, made.public_key(), min(begins, ends - DAY), ends, self)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if sans := list(sans):
            builder = builder.add_extension(x509.SubjectAlternativeName(sans), critical=False)
        pem = builder.sign(self.private_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        authority: Authority | None = self
        while authority is not None and authority.parent is not None:
            pem += authority.pem
            authority = authority.parent
        secret = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        key = made.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret)
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        pair.certificate.write_bytes(pem)
        pair.key.write_bytes(key)
        return pair

    def _builder(self, subject, public_key, begins: timedelta, ends: timedelta, issuer: "Authority"):
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begins)
            .not_valid_after(now + ends)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.private_key.public_key()), critical=False
            )
        )


class Certificates(NamedTuple):
    """The usual set: a server, a client that may come in, and clients that may not."""

    authority: Authority
    server: Pair
    client: Pair
    stranger: Pair  # of an authority that nobody here trusts
    expired: Pair


def make_certificates(folder: Path) -> Certificates:
    """Make the usual set in a folder, within some milliseconds."""
    authority, other = Authority(folder), Authority(folder, "other-authority")
    return Certificates(
        authority,
        authority.server(),
        authority.client(),
        other.client("stranger"),
        authority.client("expired", ends=-DAY),
    )


def _san(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
