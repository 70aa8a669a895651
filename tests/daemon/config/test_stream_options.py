"""The listeners of the stream protocol, by keys and by options."""

import pytest

from pybroker.daemon.config import stream_options
from pybroker.daemon.config.load import load
from pybroker.daemon.config.options import Options
from pybroker.daemon.config.values import Address

ADDRESS = Address("10.0.0.1", 7)


@pytest.mark.parametrize(
    ("given", "tcp", "ssl"),
    [
        ({}, (Address("", 5552),), ()),
        ({"stream.listeners.tcp.NAME": {"a": ADDRESS, "b": ADDRESS}}, (ADDRESS,), ()),
        ({"stream.listeners.tcp": {"": "none"}, "stream.listeners.ssl.NAME": {"a": ADDRESS}}, (), (ADDRESS,)),
        ({"stream.listeners.ssl": {"": "none"}, "stream.listeners.ssl.NAME": {"a": ADDRESS}}, (Address("", 5552),), ()),
    ],
)
def test_listeners_are_those_that_are_configured(given, tcp, ssl):
    assert (tcp, ssl) == (stream_options.tcp(given), stream_options.ssl(given))


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("", {}, (Address("", 5552),)),
        ("", {"port": "5673"}, ()),
        ("", {"bind": ("127.0.0.1", "::1")}, (Address("127.0.0.1", 5552), Address("::1", 5552))),
        ("", {"port": "0", "bind": ("127.0.0.1",)}, ()),
        ("stream.listeners.tcp.1 = 7\n", {"port": "0"}, (Address("", 7),)),
        ("stream.listeners.tcp = none\n", {"bind": ("127.0.0.1",)}, ()),
    ],
)
def test_a_port_of_ones_choice_leaves_the_default_to_others(tmp_path, text, options, found):
    path = tmp_path / "pybroker.conf"
    path.write_text(text)
    assert found == load(Options(config=str(path), **options)).stream_tcp


def test_a_listener_with_tls_needs_a_certificate(tmp_path):
    path = tmp_path / "pybroker.conf"
    path.write_text("stream.listeners.ssl.1 = 5551\nssl_options.certfile = /certificate\n")
    config = load(Options(config=str(path)))
    assert (Address("", 5551),) == config.stream_ssl
    assert config.tls is not None
