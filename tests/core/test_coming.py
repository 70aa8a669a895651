import pytest
from fakes import World

from pybroker.core import coming


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "{127,0,0,1}"),
        ("::1", "{0,0,0,0,0,0,0,1}"),
        ("fe80::1%eth0", "{65152,0,0,0,0,0,0,1}"),
        ("2001:db8:0:1:2:3:4:5", "{8193,3512,0,1,2,3,4,5}"),
        ("localhost", "localhost"),
        ("/run/pybroker.sock", "/run/pybroker.sock"),
        ("not:an:address", "not:an:address"),
    ],
)
def test_an_address_is_an_erlang_tuple(host, shown):
    assert shown == coming.erlang_host(host)


def test_the_audit_log_alone_is_told_little_of_a_connection():
    world = World()
    heard = []
    world.broker.events.audit = lambda *given: heard.append(given)
    world.connect()
    [(event, facts, cause, more)] = heard
    assert ("connection.created", "client", {}) == (event, cause.why, more)
    assert {"name", "vhost", "auth_mechanism"} == set(facts)
