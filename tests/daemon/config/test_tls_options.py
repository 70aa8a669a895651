"""The keys about TLS: the options they make together, and combinations that are refused."""

from pathlib import Path

import pytest

from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import Config, ConfigError, configure
from pybroker.daemon.config.tls_options import VERSIONS, Files, TlsOptions
from pybroker.daemon.config.values import Address

OLD = "expected tlsv1.2 or tlsv1.3: older versions are not safe and not supported"
LISTENER = "listeners.ssl.default = 5671\n"
CERTIFICATE = f"{LISTENER}ssl_options.certfile = /c.pem\nssl_options.keyfile = /k.pem\n"


def config_of(text: str) -> Config:
    return configure(*parse_conf(text.encode(), "f"))


def problems_of(text: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        config_of(text)
    return raised.value.problems


def test_without_a_listener_there_is_no_tls():
    assert config_of("ssl_options.certfile = /c.pem\n").tls is None
    assert config_of("").ssl == ()
    assert config_of(f"{CERTIFICATE}listeners.ssl = none\n").ssl == ()


def test_the_defaults_are_rabbitmqs():
    config = config_of(CERTIFICATE)
    assert config.ssl == (Address("", 5671),)
    assert config.tls == TlsOptions(Files(Path("/c.pem"), Path("/k.pem")))
    assert config.tls.versions == VERSIONS
    assert (config.tls.verify, config.tls.required, config.tls.depth) == (False, False, 10)


def test_all_keys_find_their_place():
    config = config_of(
        CERTIFICATE + "ssl_options.cacertfile = /ca.pem\nssl_options.password = p\nssl_options.verify = verify_peer\n"
        "ssl_options.fail_if_no_peer_cert = true\nssl_options.depth = 0\nssl_options.versions.1 = tlsv1.3\n"
        "ssl_options.ciphers.10 = B\nssl_options.ciphers.9 = A\nssl_options.honor_cipher_order = true\n"
        "ssl_options.honor_ecc_order = true\nssl_options.dhfile = /dh.pem\n"
        "ssl_options.sni.MQ.example.com.certfile = /mq.pem\nssl_options.sni.MQ.example.com.keyfile = /mq.key\n"
        "ssl_options.sni.b.certfile = /b.pem\nssl_handshake_timeout = 100\n"
        "ssl_options.client_renegotiation = false\nssl_options.secure_renegotiate = true\n"
    )
    assert config.tls == TlsOptions(
        files=Files(Path("/c.pem"), Path("/k.pem")),
        by_name={
            "mq.example.com": Files(Path("/mq.pem"), Path("/mq.key")),
            "b": Files(Path("/b.pem"), Path("/b.pem")),
        },
        password="p",
        authorities=Path("/ca.pem"),
        verify=True,
        required=True,
        depth=0,
        versions=("tlsv1.3",),
        ciphers=("A", "B"),
        honor_order=True,
        dh_parameters=Path("/dh.pem"),
    )
    names = ["/c.pem", "/k.pem", "/mq.pem", "/mq.key", "/b.pem", "/ca.pem", "/dh.pem"]
    assert list(map(str, config.tls.paths)) == names
    assert config.settings.tls_handshake_timeout_ms == 100


def test_the_key_may_be_in_the_certificates_file():
    assert config_of(f"{LISTENER}ssl_options.certfile = /c.pem").tls.files == Files(Path("/c.pem"), Path("/c.pem"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            LISTENER,
            "f:1: a TLS listener needs ssl_options.certfile, and ssl_options.keyfile unless both are one file",
        ),
        (
            f"{CERTIFICATE}ssl_options.fail_if_no_peer_cert = true",
            "f:4: ssl_options.fail_if_no_peer_cert = true needs ssl_options.verify = verify_peer",
        ),
        (
            f"{CERTIFICATE}ssl_options.verify = verify_peer",
            "f:4: ssl_options.verify = verify_peer needs ssl_options.cacertfile",
        ),
        (
            f"{CERTIFICATE}ssl_options.honor_ecc_order = true",
            "f:4: ssl_options.honor_ecc_order must be what ssl_options.honor_cipher_order is",
        ),
        (
            f"{CERTIFICATE}ssl_options.sni.a.b.keyfile = /k.pem",
            "f:4: ssl_options.sni.a.b.keyfile needs ssl_options.sni.a.b.certfile",
        ),
        (
            "ssl_options.versions.1 = tlsv1.1",
            f"f:1: ssl_options.versions.1 = tlsv1.1: {OLD}",
        ),
        (
            "ssl_options.client_renegotiation = true",
            "f:1: ssl_options.client_renegotiation = true: expected false",
        ),
    ],
)
def test_a_combination_that_does_not_fit_is_refused_with_its_line(text, problem):
    assert problems_of(text) == [problem]
