import re

from pamqp import commands

from pybroker.core.channel.throttle import JOURNAL
from pybroker.tls_facts import TlsFacts
from tests.certificates import Authority
from tests.fakes import PROTOCOL_HEADER

Connection = commands.Connection


def test_who_is_connected_from_where(operator, peer):
    assert operator.list("list_connections") == [["guest", "127.0.0.1", 40000, "running"]]


def test_one_that_has_not_spoken_is_no_connection_yet(operator):
    peer = operator.world.peer()
    assert operator.list("list_connections") == []
    peer.send_octets(PROTOCOL_HEADER)
    assert operator.list("list_connections", "user", "vhost", "state") == [["", "", "starting"]]


def test_the_id_and_the_name(operator, peer):
    pid, name = operator.list("list_connections", "pid", "name")[0]
    assert pid == f"<pybroker@vm.{operator.world.broker.epoch}.{peer.session.id}.0>"
    assert name == "127.0.0.1:40000 -> 127.0.0.1:5672"


def test_client_properties_travel_with_their_types(operator):
    peer = operator.world.peer()
    peer.send_octets(PROTOCOL_HEADER)
    operator.world.run()
    peer.next(0)
    properties = {"connection_name": "NAME", "capabilities": {"basic.nack": True}}
    peer.call(Connection.StartOk(properties, "PLAIN", "\0guest\0guest"), 0)
    expected = [["capabilities", "table", [["basic.nack", "bool", True]]], ["connection_name", "longstr", "NAME"]]
    assert sorted(operator.list("list_connections", "client_properties")[0]) == expected
    assert operator.list("list_connections", "user_provided_name") == ["NAME"]


def test_what_was_negotiated(operator, peer):
    columns = ("timeout", "frame_max", "channel_max", "channels", "protocol", "auth_mechanism", "ssl", "vhost")
    assert operator.list("list_connections", *columns) == [[0, 131_072, 2_047, 1, "{0,9,1}", "PLAIN", False, "/"]]


TLS = ("ssl", "ssl_protocol", "ssl_key_exchange", "ssl_cipher", "ssl_hash")
CERTIFICATE = ("peer_cert_subject", "peer_cert_issuer", "peer_cert_serial_number", "peer_cert_validity")


def test_who_comes_without_tls_has_no_certificate(operator, peer):
    assert [[False, *[""] * 8]] == operator.list("list_connections", *TLS, *CERTIFICATE)


def test_tls_and_the_peers_certificate_are_shown(operator, tmp_path):
    der = Authority(tmp_path).client(common_name="one, two").der
    operator.world.connect(tls=TlsFacts("tlsv1.2", "ecdhe_rsa", "aes_256_gcm", "aead", der))
    assert [[True, "tlsv1.2", "ecdhe_rsa", "aes_256_gcm", "aead"]] == operator.list("list_connections", *TLS)
    [[subject, issuer, serial_number, validity]] = operator.list("list_connections", *CERTIFICATE)
    assert (subject, issuer) == (r"CN=one\, two", "CN=pybroker test authority")
    assert re.fullmatch("[0-9A-F]+", serial_number)
    time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
    assert re.fullmatch(f"{time} - {time}", validity)


def test_octets_are_counted(operator, peer):
    received, sent, pending = operator.list("list_connections", "recv_oct", "send_oct", "send_pend")[0]
    assert received > 100
    assert sent > 100
    assert pending == 0


def test_reads_and_writes_are_counted_apart_from_their_octets(operator, peer):
    before = operator.list("list_connections", "recv_cnt", "send_cnt")[0]
    peer.declare("q")
    assert operator.list("list_connections", "recv_cnt", "send_cnt") == [[count + 1 for count in before]]


def test_a_publisher_that_is_ahead_of_the_disk_is_in_flow(operator, peer):
    peer.session.stop_reading(JOURNAL)
    assert operator.list("list_connections", "state") == ["flow"]
    assert operator.list("list_channels", "state") == ["flow"]


BLOCKED = ("last_blocked_by", "last_blocked_age", "last_blocked_cause", "blocked_time", "flow_time", "flow_count")


def test_e7_one_that_was_always_read_says_so_as_rabbitmq_36_did(operator, peer):
    assert [["none", "infinity", "", 0, 0, 0]] == operator.list("list_connections", *BLOCKED)


def test_e7_what_held_it_last_when_and_how_long_in_all(operator, peer):
    clock, session = operator.world.clock, peer.session
    session.stop_reading(JOURNAL)
    clock.advance(300)
    session.resume_reading(JOURNAL)
    clock.advance(1_200)
    assert [["flow", 1.5, "journal", 0, 300, 1]] == operator.list("list_connections", *BLOCKED)
    operator.world.broker.alarms.set("memory", "much")
    operator.world.broker.alarms.set("disk", "little")
    peer.declare("q")
    peer.publish("", "q", b"x")
    clock.advance(2_000)
    assert [["resource", 2, "memory & disk", 2_000, 300, 1]] == operator.list("list_connections", *BLOCKED)


def test_e6_flow_is_shown_for_five_seconds(operator, peer):
    clock, session = operator.world.clock, peer.session
    session.stop_reading(JOURNAL)
    session.resume_reading(JOURNAL)
    clock.advance(4_999)
    assert ["flow"] == operator.list("list_connections", "state")
    clock.advance(1)
    assert ["running"] == operator.list("list_connections", "state")


def test_problems_are_those_that_are_held_back_or_do_not_read(operator, peer):
    clock = operator.world.clock
    in_flow, deaf, _well = (operator.world.connect() for _ in range(3))
    in_flow.session.stop_reading(JOURNAL)
    in_flow.session.resume_reading(JOURNAL)
    deaf.session.outbox_full = True
    pids = operator.list("list_connections", "pid", problems=True)
    assert [in_flow.session.pid, deaf.session.pid] == pids
    clock.advance(5_000)
    assert [deaf.session.pid] == operator.list("list_connections", "pid", problems=True)
    # E8: an alarm wins, whoever publishes or not.
    operator.world.broker.alarms.set("memory", "much")
    assert 4 == len(operator.list("list_connections", "pid", problems=True))


def test_problems_are_shown_with_their_cause(operator, peer):
    peer.session.stop_reading(JOURNAL)
    row = operator.list("list_connections", problems=True)
    assert [[peer.session.pid, peer.session.name, "guest", "flow", "journal", 0, 0]] == row
