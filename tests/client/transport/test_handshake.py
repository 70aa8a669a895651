"""Start, tune, open: what is agreed on, and what can go wrong."""

import socket

import pytest
from pamqp import commands

from pybroker.client.errors import AuthenticationFailed, ConnectionForced, ConnectionLost, NotAllowed
from pybroker.client.options import Options
from pybroker.client.transport.handshake import CAPABILITIES, client_properties, shake_hands
from pybroker.client.transport.stream import Stream
from tests.client.scripted import WAIT_S, Peer, in_thread


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    yield Stream(ours), Peer(theirs)
    ours.close()
    theirs.close()


def begin(stream, **options):
    return in_thread(shake_hands, stream, Options(handshake_timeout_s=WAIT_S, **options))


@pytest.mark.parametrize(
    ("tune", "agreed"),
    [
        ({"channel_max": 0, "frame_max": 0, "heartbeat": 0}, (2047, 131_072, 60)),
        ({"channel_max": 5, "frame_max": 4_096, "heartbeat": 7}, (5, 4_096, 7)),
        ({"channel_max": 65_535, "frame_max": 1 << 20, "heartbeat": 600}, (2047, 131_072, 60)),
    ],
)
def test_the_lower_of_two_wishes_counts_and_0_is_none(ends, tune, agreed):
    stream, peer = ends
    future = begin(stream)
    peer.shake_hands(tune)
    got = future.result(WAIT_S)
    assert (got.channel_max, got.frame_octets_max, got.heartbeat_s) == agreed
    assert (peer.tune_ok.channel_max, peer.tune_ok.frame_max, peer.tune_ok.heartbeat) == agreed
    assert got.server_properties["product"] == "scripted"


def test_heartbeats_can_be_turned_off(ends):
    future = begin(ends[0], heartbeat_s=0)
    ends[1].shake_hands({"heartbeat": 60})
    assert future.result(WAIT_S).heartbeat_s == 0


def test_credentials_virtual_host_and_properties_are_sent(ends):
    future = begin(ends[0], username="me", password="pässword", virtual_host="v", connection_name="mine")
    ends[1].shake_hands({})
    future.result(WAIT_S)
    start_ok = ends[1].start_ok
    assert (start_ok.mechanism, start_ok.response, ends[1].open.virtual_host) == ("PLAIN", "\0me\0pässword", "v")
    assert start_ok.client_properties["connection_name"] == "mine"
    assert start_ok.client_properties["capabilities"] == dict.fromkeys(CAPABILITIES, True)


def test_external_sends_no_password(ends):
    future = begin(ends[0], auth_mechanism="EXTERNAL")
    ends[1].shake_hands({})
    future.result(WAIT_S)
    assert (ends[1].start_ok.mechanism, ends[1].start_ok.response) == ("EXTERNAL", "")


def test_the_applications_client_properties_win():
    properties = client_properties(Options(client_properties={"product": "mine", "more": 1}))
    assert (properties["product"], properties["more"]) == ("mine", 1)


def start(peer, mechanisms="PLAIN"):
    while len(peer.data) < 8:
        peer.data += peer.socket.recv(8)
    peer.data = peer.data[8:]
    peer.say(commands.Connection.Start, 0, version_minor=9, mechanisms=mechanisms, locales="en_US")


@pytest.mark.parametrize(("mechanisms", "offered"), [("GSSAPI", "GSSAPI"), ("", "no mechanism here")])
def test_a_mechanism_that_is_not_offered_is_told(ends, mechanisms, offered):
    future = begin(ends[0])
    start(ends[1], mechanisms)
    with pytest.raises(AuthenticationFailed, match=f"offers {offered}, not PLAIN"):
        future.result(WAIT_S)


def test_refused_credentials_are_no_ordinary_error(ends):
    future = begin(ends[0])
    start(ends[1])
    ends[1].expect(commands.Connection.StartOk)
    ends[1].say(commands.Connection.Close, 0, reply_code=403, reply_text="ACCESS_REFUSED - Login was refused")
    with pytest.raises(AuthenticationFailed, match="Login was refused"):
        future.result(WAIT_S)
    ends[1].expect(commands.Connection.CloseOk)


def test_a_virtual_host_that_is_not_there_is_not_allowed(ends):
    future = begin(ends[0])
    start(ends[1])
    ends[1].expect(commands.Connection.StartOk)
    ends[1].say(commands.Connection.Tune, 0)
    ends[1].expect(commands.Connection.TuneOk)
    ends[1].expect(commands.Connection.Open)
    ends[1].say(commands.Connection.Close, 0, reply_code=530, reply_text="NOT_ALLOWED - vhost v not found")
    with pytest.raises(NotAllowed, match="vhost v not found"):
        future.result(WAIT_S)


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"AMQP\x00\x00\x09\x01", "another protocol"),
        (b"", "closed the connection during the handshake"),
        (b"\x01\0\0\0\0\0\x05\0\x0a\0\x29\0\xce", "Connection.OpenOk came where Connection.Start was due"),
    ],
)
def test_whatever_else_answers_is_an_error(ends, octets, text):
    future = begin(ends[0])
    if octets:
        ends[1].socket.sendall(octets + bytes(8))
    else:
        ends[1].socket.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionLost, match=text):
        future.result(WAIT_S)


def test_a_broker_that_stays_silent_is_given_up(ends):
    with pytest.raises(TimeoutError):
        shake_hands(ends[0], Options(handshake_timeout_s=0.02))


def test_a_port_of_tls_is_told(ends):
    future = begin(ends[0])
    ends[1].socket.sendall(b"\x15\x03\x03\0\x02\x02\x46")  # a fatal alert: protocol_version
    with pytest.raises(ConnectionLost, match="this port requires TLS: connect with amqps://"):
        future.result(WAIT_S)


def test_what_was_said_before_hanging_up_is_heard(ends):
    """The header cannot be sent any more; the reason waits to be read."""
    ends[1].say(commands.Connection.Close, 0, reply_code=320, reply_text="CONNECTION_FORCED - too many")
    ends[1].close()
    with pytest.raises(ConnectionForced, match="too many"):
        begin(ends[0]).result(WAIT_S)
