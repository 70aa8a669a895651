"""Keys of the HTTP API."""

import pytest

from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import Config, ConfigError, configure


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
    assert found == ("::", 80, 1_048_576, 10, ("https://a:1", "*"), 5, "max-age=1")


@pytest.mark.parametrize(
    "origin", ["example.org", "https://example.org/", "https://a/b", "ftp://a", "null", "https://"]
)
def test_origins_are_those_that_browsers_send(origin):
    with pytest.raises(ConfigError, match="expected an origin such as"):
        options(f"management.cors.allow_origins.1 = {origin}")
