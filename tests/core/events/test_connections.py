import pytest
from pamqp import commands

from pybroker.core.events import connections as connection_events
from pybroker.core.events.audit import Entry, document
from pybroker.line_limit import LINES_MAX
from pybroker.tls_facts import TlsFacts
from tests.certificates import Authority
from tests.fakes import PROTOCOL_HEADER, World


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
    assert shown == connection_events.erlang_host(host)


def test_the_audit_log_alone_is_told_little_of_a_connection():
    world = World()
    heard = []
    world.broker.events.add_receiver(lambda *given: heard.append(given))
    world.connect()
    [(event, facts, cause, more)] = heard
    assert ("connection.created", "client", {}) == (event, cause.why, more)
    assert {"name", "vhost", "auth_mechanism"} == set(facts)


def test_the_audit_log_says_by_which_certificate_a_connection_came(tmp_path):
    world = World()
    heard = []
    world.broker.events.add_receiver(lambda *given: heard.append(given))
    world.connect(tls=TlsFacts("tlsv1.3", "any", "aes_256_gcm", "aead", Authority(tmp_path).client().der))
    [given] = heard
    facts = document(Entry(0, *given))["facts"]
    names = {"peer_cert_subject": "CN=guest", "peer_cert_issuer": "CN=pybroker test authority"}
    assert {"auth_mechanism": "PLAIN", "ssl_protocol": "tlsv1.3", **names} == facts


def refused(world: World, count: int) -> None:
    for _ in range(count):
        peer = world.peer()
        peer.send_octets(PROTOCOL_HEADER)
        world.run()
        peer.send(commands.Connection.StartOk({"long": "x" * 1_000}, "PLAIN", "\0guest\0wrong"), channel=0)
        peer.disconnect()


def test_of_a_flood_of_refused_logins_the_audit_log_has_so_many_a_second_and_then_how_many():
    """Anybody can make them, as fast as the machine answers: they must not fill the disk."""
    world = World()
    heard = []
    world.broker.events.add_receiver(lambda *given: heard.append(given))
    refused(world, LINES_MAX + 7)
    assert {"user.authentication.failure"} == {event for event, *_ in heard}
    assert LINES_MAX == len(heard)
    world.broker.logins.tick()
    event, facts, cause, _ = heard.pop()
    assert ("user.authentication.failure", 7) == (event, facts["count"])
    assert "too many within a second" == cause.why
    refused(world, 1)
    assert LINES_MAX + 1 == len(heard)


def test_the_audit_log_has_the_end_of_a_connection_that_was_let_in_alone():
    world = World()
    heard = []
    world.broker.events.add_receiver(lambda *given: heard.append(given))
    peer = world.peer()
    peer.send_octets(PROTOCOL_HEADER)
    peer.disconnect()
    assert [] == heard
    world.connect().disconnect()
    [_, (event, facts, _, more)] = heard
    assert ("connection.closed", {"name"}, "guest", "/") == (event, set(facts), more["user"], more["vhost"])
