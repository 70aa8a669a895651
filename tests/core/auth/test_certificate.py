import datetime as dt
import ipaddress
import subprocess
import sys
import warnings

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.name import _ASN1Type as Asn1Type
from cryptography.x509.oid import NameOID, ObjectIdentifier

from pybroker.core.auth.certificate import (
    ALTERNATIVE_NAME,
    COMMON_NAME,
    DISTINGUISHED_NAME,
    NAME_MAX,
    CertificateError,
    read_certificate,
)

pytestmark = pytest.mark.filterwarnings("ignore:Attribute's length", "ignore:Parsed a serial number")

KEY = ec.generate_private_key(ec.SECP256R1())
CN, ORG, DC, UID = NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME, NameOID.DOMAIN_COMPONENT, NameOID.USER_ID


def attribute(oid, value, kind=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the sizes that X.520 allows
        return x509.NameAttribute(oid, value, kind, _validate=False)


def made(*parts, names=()):
    """Return a certificate (DER) whose subject has these parts, each an attribute or a list of some."""
    rdns = [x509.RelativeDistinguishedName(part if isinstance(part, list) else [part]) for part in parts]
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(rdns))
        .issuer_name(x509.Name([attribute(CN, "authority"), attribute(ORG, "Acme, Inc.")]))
        .public_key(KEY.public_key())
        .serial_number(0x1A2B3C)
        .not_valid_before(dt.datetime(2026, 1, 2, 3, 4, 5))
        .not_valid_after(dt.datetime(2051, 6, 7, 8, 9, 10))
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.DER)


# Subjects as rabbit_cert_info:subject/1 of RabbitMQ 3.10.8 formats the same certificates.
@pytest.mark.parametrize(
    ("parts", "subject"),
    [
        ([], ""),
        ([attribute(NameOID.COUNTRY_NAME, "DE"), attribute(ORG, "Acme, Inc."), attribute(CN, "client")], None),
        ([attribute(ORG, "Acme"), [attribute(CN, "a+b"), attribute(UID, "u1")]], r"CN=a\+b+UID=u1,O=Acme"),
        (
            [attribute(DC, "com"), attribute(DC, "acme"), attribute(NameOID.EMAIL_ADDRESS, "a@b.c")],
            "EMAILADDRESS=a@b.c,DC=acme,DC=com",
        ),
        ([attribute(CN, ' #x "+,;<>\\=~ ')], 'CN=\\ #x \\"\\+\\,\\;\\<\\>\\\\=\\7E\\ '),
        ([attribute(CN, "#x")], r"CN=\#x"),
        ([attribute(CN, " ")], r"CN=\ "),
        ([attribute(CN, "  ")], r"CN=\ \ "),
        ([attribute(CN, "")], "CN="),
        ([attribute(CN, "admin\0.evil\n\r\t\x7f")], r"CN=admin\00.evil\0A\0D\09\7F"),
        ([attribute(CN, "Jos\u00e9 \u202e\U0001f600")], r"CN=Jos\C3\A9 \E2\80\AE\F0\9F\98\80"),
        ([attribute(CN, "one"), attribute(CN, "two, three")], r"CN=two\, three,CN=one"),
        ([attribute(NameOID.STREET_ADDRESS, "Way 1")], "2.5.4.9=Way 1"),
        ([attribute(NameOID.TITLE, "Dr"), attribute(NameOID.SERIAL_NUMBER, "7")], "SERIALNUMBER=7,TITLE=Dr"),
        ([attribute(ObjectIdentifier("1.2.3.4"), "x")], "1.2.3.4=x"),
        (
            [
                attribute(CN, "bmp\u00e9", Asn1Type.BMPString),
                attribute(ORG, "univ\u00e9", Asn1Type.UniversalString),
                attribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "t61", Asn1Type.T61String),
            ],
            r"OU=t61,O=univ\C3\A9,CN=bmp\C3\A9",
        ),
    ],
)
def test_a_subject_is_formatted_as_by_rabbitmq(parts, subject):
    expected = r"CN=client,O=Acme\, Inc.,C=DE" if subject is None else subject
    assert expected == read_certificate(made(*parts)).subject


def test_what_is_no_text_is_shown_in_hexadecimal():
    # Differs from RabbitMQ: "2.5.4.45=\<\<3\,3\,0\,1\,2\>\>"
    unique = attribute(NameOID.X500_UNIQUE_IDENTIFIER, b"\x00\x01\x02", Asn1Type.BitString)
    assert read_certificate(made(unique)).subject == "2.5.4.45=#000102"
    assert (
        read_certificate(made(attribute(ObjectIdentifier("1.2.3"), "ia5", Asn1Type.IA5String))).subject == "1.2.3=ia5"
    )


def test_the_rest_is_as_rabbitmq_shows_it():
    certificate = read_certificate(made(attribute(CN, "x")))
    assert certificate.issuer == r"O=Acme\, Inc.,CN=authority"
    assert certificate.serial_number == "1A2B3C"
    assert certificate.validity == "2026-01-02T03:04:05Z - 2051-06-07T08:09:10Z"
    assert certificate.starts_at == dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC).timestamp()
    assert (certificate.start, certificate.end) == ("2026-01-02 03:04:05", "2051-06-07 08:09:10")
    assert certificate.ends_at == dt.datetime(2051, 6, 7, 8, 9, 10, tzinfo=dt.UTC).timestamp()


ALTERNATIVES = made(
    attribute(CN, "x"),
    names=[
        x509.DNSName("one.test"),
        x509.IPAddress(ipaddress.ip_address("10.1.2.3")),
        x509.IPAddress(ipaddress.ip_address("fe80::1")),
        x509.DNSName("two.test"),
        x509.RFC822Name("a@b.c"),
        x509.UniformResourceIdentifier("urn:x:1"),
        x509.DirectoryName(x509.Name([attribute(CN, "ignored")])),
        x509.OtherName(ObjectIdentifier("1.3.6.1.4.1.311.20.2.3"), b"\x0c\x05upn@x"),
        x509.OtherName(ObjectIdentifier("1.2.3"), b"\x02\x01\x05"),  # no text
        x509.OtherName(ObjectIdentifier("1.2.3"), b"\x0c\x81\x80" + 64 * "\u00e9".encode()),
    ],
)


@pytest.mark.parametrize(
    ("kind", "index", "name"),
    [
        ("dns", 0, "one.test"),
        ("dns", 1, "two.test"),
        ("dns", 2, ""),
        ("ip", 0, "10.1.2.3"),
        ("ip", 1, "fe80::1"),
        ("email", 0, "a@b.c"),
        ("uri", 0, "urn:x:1"),
        ("other_name", 0, "upn@x"),
        ("other_name", 1, 64 * "\u00e9"),
        ("other_name", 2, ""),
    ],
)
def test_an_alternative_name_is_chosen_by_type_and_index(kind, index, name):
    for login_from in (ALTERNATIVE_NAME, "subject_alt_name"):
        assert name == read_certificate(ALTERNATIVES).login_name(login_from, kind, index)


@pytest.mark.parametrize(
    ("der", "names"),
    [
        (made(attribute(CN, "one"), attribute(ORG, "o"), attribute(CN, "two")), ("CN=two,O=o,CN=one", "one,two", "")),
        (made(attribute(ORG, "o")), ("O=o", "", "")),
        (made(attribute(CN, "")), ("CN=", "", "")),
        (made(), ("", "", "")),
        # Not `admin`: where C ends a text, a name does not end.
        (made(attribute(CN, "admin\0.evil")), (r"CN=admin\00.evil", "admin\0.evil", "")),
        (made(attribute(CN, "\u202enimda")), (r"CN=\E2\80\AEnimda", "\u202enimda", "")),
    ],
)
def test_the_user_is_the_whole_name_or_none(der, names):
    certificate = read_certificate(der)
    found = [certificate.login_name(form, "dns", 0) for form in (DISTINGUISHED_NAME, COMMON_NAME, ALTERNATIVE_NAME)]
    assert found == list(names)


def test_a_name_without_end_is_cut_and_names_nobody():
    host = x509.DNSName("x" * (NAME_MAX + 1))
    parts = [attribute(CN, "x" * NAME_MAX), attribute(CN, "x" * 100_000), attribute(ORG, "\u00e9" * 100_000)]
    certificate = read_certificate(made(*parts, names=[host]))
    texts = [certificate.subject, *certificate.common_names, certificate.alternative_names[0][1]]
    assert [NAME_MAX + 3, NAME_MAX, NAME_MAX + 3, NAME_MAX + 3] == [len(text) for text in texts]
    for form in (DISTINGUISHED_NAME, COMMON_NAME, ALTERNATIVE_NAME):
        assert certificate.login_name(form, "dns", 0) == ""
    exact = read_certificate(made(attribute(CN, "x" * NAME_MAX)))
    assert exact.login_name(COMMON_NAME, "dns", 0) == "x" * NAME_MAX


@pytest.mark.parametrize(
    "octets",
    [b"", b"0", b"0\x03\x02\x01\x05", ALTERNATIVES[:-1], ALTERNATIVES[:100]],
    ids=["none", "one octet", "a boolean", "all but one octet", "its beginning"],
)
def test_what_is_no_certificate_is_refused(octets):
    with pytest.raises(CertificateError):
        read_certificate(octets)


def test_any_damage_is_refused_or_read():
    for place in range(len(ALTERNATIVES)):
        for mask in (0x01, 0x20, 0x80):
            damaged = bytearray(ALTERNATIVES)
            damaged[place] ^= mask
            try:
                certificate = read_certificate(bytes(damaged))
            except CertificateError:
                continue
            assert certificate.subject.isascii()
            assert certificate.subject.isprintable()


def test_cryptography_is_loaded_with_the_first_certificate():
    code = "import pybroker.core.auth.certificate, sys; assert 'cryptography' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
