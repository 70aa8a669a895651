"""Keys of the HTTP API."""

from pathlib import Path

import pytest

from pybroker.control import codec
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import Config, ConfigError, configure
from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.http.door.tls import read_options


def options(text: str):
    return configure(*parse_conf(text.encode(), "f")).management


def test_without_a_key_it_is_served_on_this_machine():
    assert options("") == Config().management
    assert options("")[:3] == ("127.0.0.1", 15_672, 20_000_000)


def test_it_can_be_switched_off():
    assert options("management.enabled = false\nmanagement.tcp.port = 1") is None


def test_all_keys():
    found = options(
        "management.tcp.ip = ::\nmanagement.tcp.port = 80\nmanagement.http.max_body_size = 1MB\n"
        "management.login_session_timeout = 10\nmanagement.cors.max_age = 5\n"
        "management.cors.allow_origins.2 = *\nmanagement.cors.allow_origins.1 = https://A:1\n"
        "management.hsts.policy = max-age=1\n"
    )
    assert found[:7] == ("::", 80, 1_048_576, 10, ("https://a:1", "*"), 5, "max-age=1")


@pytest.mark.parametrize(
    "origin", ["example.org", "https://example.org/", "https://a/b", "ftp://a", "null", "https://"]
)
def test_origins_are_those_that_browsers_send(origin):
    with pytest.raises(ConfigError, match="expected an origin such as"):
        options(f"management.cors.allow_origins.1 = {origin}")


def test_https_has_the_options_of_amqps_listeners():
    found = options(
        "management.ssl.port = 443\nmanagement.ssl.certfile = /c\nmanagement.ssl.keyfile = /k\n"
        "management.ssl.cacertfile = /a\nmanagement.ssl.verify = verify_peer\nmanagement.ssl.versions.1 = tlsv1.3\n"
        "management.ssl.password = p\nmanagement.ssl.sni.Mq.test.certfile = /m\n"
    )
    assert (found.tls_host, found.tls_port) == ("127.0.0.1", 443)
    assert found.tls == TlsOptions(
        Files(Path("/c"), Path("/k")),
        by_name={"mq.test": Files(Path("/m"), Path("/m"))},
        password="p",
        authorities=Path("/a"),
        verify=True,
        versions=("tlsv1.3",),
        head="management.ssl.",
    )
    assert read_options(codec.decode(codec.encode(found.document()))["tls"]) == found.tls


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("management.ssl.port = 443", "f:1: a TLS listener needs management.ssl.certfile"),
        ("management.ssl.certfile = /c\nmanagement.ssl.verify = verify_peer", "needs management.ssl.cacertfile"),
        (
            "management.ssl.certfile = /c\nmanagement.ssl.fail_if_no_peer_cert = true",
            "needs management.ssl.verify = verify_peer",
        ),
        ("management.ssl.certfile = /c\nmanagement.ssl.sni.a.keyfile = /k", "needs management.ssl.sni.a.certfile"),
    ],
)
def test_keys_of_https_that_do_not_fit(text, fault):
    with pytest.raises(ConfigError, match=fault):
        options(text)
