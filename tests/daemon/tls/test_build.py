"""Contexts from options and files: what they offer, and every file that is refused with its reason."""

import os
import ssl
import subprocess
from pathlib import Path

import pytest

from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.daemon.tls.build import TlsError, build
from tests.certificates import make_certificates

NEW = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
OLD = "ECDHE-ECDSA-AES256-GCM-SHA384"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def options(made, **more) -> TlsOptions:
    return TlsOptions(Files(*made.server), **more)


def refusal(wanted: TlsOptions) -> str:
    with pytest.raises(TlsError) as raised:
        build(wanted)
    assert raised.value.code == 78
    return raised.value.text


def test_by_default_the_safe_versions_and_ciphers_are_offered(made):
    context = build(options(made)).default
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert context.maximum_version == ssl.TLSVersion.TLSv1_3
    assert {each["protocol"] for each in context.get_ciphers()} == {"TLSv1.2", "TLSv1.3"}
    assert context.verify_mode == ssl.CERT_NONE
    for option in (ssl.OP_NO_RENEGOTIATION, ssl.OP_NO_COMPRESSION, ssl.OP_NO_TICKET):
        assert context.options & option
    assert context.num_tickets == 0
    assert not context.options & ssl.OP_CIPHER_SERVER_PREFERENCE
    assert build(options(made, honor_order=True)).default.options & ssl.OP_CIPHER_SERVER_PREFERENCE


@pytest.mark.parametrize(
    ("versions", "ciphers", "least", "most"),
    [
        (("tlsv1.2",), (), "TLSv1_2", "TLSv1_2"),
        (("tlsv1.3",), (), "TLSv1_3", "TLSv1_3"),
        (("tlsv1.3", "tlsv1.2"), (), "TLSv1_2", "TLSv1_3"),
        (("tlsv1.2", "tlsv1.3"), (OLD,), "TLSv1_2", "TLSv1_2"),
        (("tlsv1.2", "tlsv1.3"), NEW, "TLSv1_3", "TLSv1_3"),
        (("tlsv1.2", "tlsv1.3"), (*NEW, "TLS_AES_128_CCM_SHA256", OLD), "TLSv1_2", "TLSv1_3"),
    ],
)
def test_what_is_configured_is_offered_and_nothing_else(made, versions, ciphers, least, most):
    context = build(options(made, versions=versions, ciphers=ciphers)).default
    assert (context.minimum_version.name, context.maximum_version.name) == (least, most)
    if ciphers:
        old = [each["name"] for each in context.get_ciphers() if not each["name"].startswith("TLS_")]
        assert least == "TLSv1_3" or old == [OLD]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"ciphers": ("NO-SUCH-CIPHER",)}, "has no cipher NO-SUCH-CIPHER"),
        ({"ciphers": ("HIGH",)}, "has no cipher HIGH"),
        ({"ciphers": ("ADH-AES256-GCM-SHA384",)}, "has no cipher ADH-AES256-GCM-SHA384, or does not think it safe"),
        ({"ciphers": NEW[:1]}, "cannot choose among the ciphers of TLS 1.3; name TLS_AES_128_GCM_SHA256, TLS_CHACHA20"),
        ({"ciphers": (OLD,), "versions": ("tlsv1.3",)}, "none of them belongs to one of ssl_options.versions"),
    ],
)
def test_ciphers_that_cannot_be_had_are_refused(made, more, reason):
    assert reason in refusal(options(made, **more))


@pytest.mark.parametrize(("required", "mode"), [(False, ssl.CERT_OPTIONAL), (True, ssl.CERT_REQUIRED)])
def test_clients_are_asked_as_configured(made, required, mode):
    wanted = options(made, authorities=made.authority.certificate, verify=True, required=required, depth=3)
    contexts = build(wanted)
    assert (contexts.default.verify_mode, contexts.verifies, contexts.depth) == (mode, True, 3)


def test_each_name_has_the_rules_of_the_default(made):
    other = made.authority.server("other", ["mq.example.com"])
    wanted = options(
        made,
        by_name={"mq.example.com": Files(*other)},
        authorities=made.authority.certificate,
        verify=True,
        required=True,
    )
    contexts = build(wanted)
    assert contexts.by_name["mq.example.com"].verify_mode == ssl.CERT_REQUIRED
    assert contexts.default.sni_callback is not None


def test_an_encrypted_key_needs_its_password(made):
    pair = made.authority.server("encrypted", password="right")
    build(TlsOptions(Files(*pair), password="right"))
    text = refusal(TlsOptions(Files(*pair)))
    assert text == f"{pair.key}: the key is encrypted; set ssl_options.password"
    text = refusal(TlsOptions(Files(*pair), password="wrong"))
    assert text == f"{pair.key}: ssl_options.password does not open the key"
    text = refusal(TlsOptions(Files(*pair), head="management.ssl."))
    assert text == f"{pair.key}: the key is encrypted; set management.ssl.password"


def test_key_and_certificate_may_be_one_file(made, tmp_path):
    both = tmp_path / "both.pem"
    both.write_bytes(made.server.certificate.read_bytes() + made.server.key.read_bytes())
    build(TlsOptions(Files(both, both)))


def test_a_file_that_does_not_fit_is_named_with_the_reason(made, tmp_path):
    good, key = made.server
    missing, empty = tmp_path / "missing", tmp_path / "empty"
    empty.touch()
    assert refusal(TlsOptions(Files(missing, key))) == f"{missing}: No such file or directory"
    assert refusal(TlsOptions(Files(good, missing))) == f"{missing}: No such file or directory"
    assert refusal(TlsOptions(Files(tmp_path, key))) == f"{tmp_path}: Is a directory"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refusal(TlsOptions(Files(pipe, key))) == f"{pipe}: not a regular file"
    assert refusal(TlsOptions(Files(good, pipe))) == f"{pipe}: not a regular file"
    assert refusal(options(made, authorities=pipe, verify=True)) == f"{pipe}: not a regular file"
    assert refusal(TlsOptions(Files(Path("/dev/zero"), key))) == "/dev/zero: it has more than 4194304 octets"
    assert refusal(TlsOptions(Files(empty, key))) == f"{empty}: there is no certificate (PEM) in it"
    assert refusal(TlsOptions(Files(good, empty))) == f"{empty}: there is no private key (PEM) in it"
    for other in (made.client.key, made.authority.server("rsa", with_rsa=True).key):
        text = refusal(TlsOptions(Files(good, other)))
        assert text == f"{other}: the key does not belong to the certificate in {good}"
    text = refusal(options(made, authorities=key, verify=True))
    assert text == f"{key}: there is no certificate (PEM) in it"
    assert refusal(options(made, authorities=missing)) == f"{missing}: No such file or directory"
    text = refusal(options(made, dh_parameters=good))
    assert text == f"{good}: there are no Diffie-Hellman parameters (PEM) in it"
    assert refusal(options(made, by_name={"a": Files(missing, key)})) == f"{missing}: No such file or directory"


def test_diffie_hellman_parameters_are_taken(made, tmp_path):
    path = tmp_path / "dh.pem"
    command = ["openssl", "genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "group:ffdhe2048", "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    build(options(made, dh_parameters=path))


def test_a_file_that_goes_while_it_is_read_is_named(made, tmp_path, monkeypatch):
    monkeypatch.setattr("pybroker.daemon.tls.build._read", lambda _: "")
    gone, (good, key) = tmp_path / "gone", made.server
    assert refusal(TlsOptions(Files(gone, key))) == f"{gone}: No such file or directory"
    assert refusal(options(made, authorities=gone)) == f"{gone}: No such file or directory"
    assert refusal(TlsOptions(Files(good, gone))) == f"{good} or {gone}: No such file or directory"
