"""pybroker.client as a whole: what it loads, what it offers, and that its options can travel."""

import pickle

import pytest

import pybroker.client
from pybroker.client import Address, Options, Tls, connect, parse_uri
from tests.test_layers import loaded_by


def test_it_loads_neither_gevent_nor_anything_of_the_daemon():
    ours = {
        name for name in loaded_by("import pybroker.client") if name.startswith(("pybroker.", "gevent", "greenlet"))
    }
    nouns = {"errors", "run", "version"}
    packages = {name.split(".")[1] for name in ours}
    assert packages == {"client", "wire"} | nouns & packages


def test_all_that_is_offered_exists():
    assert [name for name in pybroker.client.__all__ if not hasattr(pybroker.client, name)] == []


def test_options_can_be_pickled_to_where_they_are_used():
    options = Options(addresses=(Address("a"), Address("b", 1)), tls=Tls(ca_file="ca.pem"), client_properties={"a": 1})
    assert pickle.loads(pickle.dumps(options)) == options


def test_a_password_is_not_printed():
    assert "secret" not in repr(parse_uri("amqp://me:secret@host"))


def test_nobody_listening_is_an_error_of_the_system():
    with pytest.raises(OSError, match="refused"):
        connect("amqp://127.0.0.1:1")
