"""AMQP URIs as RabbitMQ specifies them."""

import contextlib

import pytest
from hypothesis import given, strategies as st

from pybroker.client.options import Address, Tls
from pybroker.client.uri import parse_uri


@pytest.mark.parametrize(
    ("uri", "address", "user", "vhost"),
    [
        ("amqp://", ("localhost", 5672), ("guest", "guest"), "/"),
        ("amqp://host", ("host", 5672), ("guest", "guest"), "/"),
        ("amqp://host/", ("host", 5672), ("guest", "guest"), "/"),
        ("amqp://host/%2f", ("host", 5672), ("guest", "guest"), "/"),
        ("amqp://me:se%40cret@host:1/v%2fh", ("host", 1), ("me", "se@cret"), "v/h"),
        ("amqps://host/v", ("host", 5671), ("guest", "guest"), "v"),
        ("amqp://[::1]:5/v", ("::1", 5), ("guest", "guest"), "v"),
    ],
)
def test_the_parts_of_a_uri(uri, address, user, vhost):
    options = parse_uri(uri)
    assert (options.addresses, options.virtual_host) == ((Address(*address),), vhost)
    assert (options.username, options.password) == user


def test_query_parameters_are_rabbitmqs():
    uri = "amqp://h?heartbeat=10&channel_max=5&frame_max=8192&connection_timeout=1500&auth_mechanism=external&name=me"
    options = parse_uri(uri)
    assert (options.heartbeat_s, options.channel_max, options.frame_octets_max) == (10, 5, 8_192)
    assert (options.connect_timeout_s, options.auth_mechanism, options.connection_name) == (1.5, "EXTERNAL", "me")


def test_tls_parameters_need_amqps():
    uri = "amqps://h?cacertfile=a&certfile=b&keyfile=c&server_name_indication=d&verify=verify_none"
    assert parse_uri(uri).tls == Tls(ca_file="a", cert_file="b", key_file="c", server_name="d", verify=False)
    assert parse_uri(f"{uri}&password=p%20w").tls.key_password == "p w"
    with pytest.raises(ValueError, match="need amqps://"):
        parse_uri(uri.replace("amqps", "amqp"))


def test_several_uris_are_several_addresses():
    options = parse_uri("amqp://me@one/v", "amqp://two:2")
    assert (options.username, options.addresses) == ("me", (Address("one"), Address("two", 2)))
    with pytest.raises(ValueError, match="all amqp:// or all amqps://"):
        parse_uri("amqp://one", "amqps://two")


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("http://h", "must begin with amqp://"),
        ("host", "must begin with amqp://"),
        ("amqp://h/a/b", "%2f"),
        ("amqp://h?colour=red", "colour does not exist"),
        ("amqp://h?heartbeat=soon", "heartbeat: invalid value 'soon'"),
        ("amqps://h?verify=maybe", "verify: invalid value 'maybe'"),
        ("amqp://h?heartbeat=99999", "heartbeat_s"),
    ],
)
def test_what_makes_no_sense_is_refused(uri, text):
    with pytest.raises(ValueError, match=text):
        parse_uri(uri)


@given(st.text(max_size=30))
def test_it_parses_or_raises_value_error(text):
    with contextlib.suppress(ValueError):
        parse_uri(f"amqp://{text}")
