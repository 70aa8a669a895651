"""How a connection of the stream protocol begins and ends, and what ends it.

RabbitMQ 3.10.8 differs: it drops a connection without an answer where the vhost is not there, where a frame cannot be
read, and where frames of the handshake come together; it takes frames of any size.
"""

import struct
from contextlib import nullcontext, suppress

import pytest

from tests.interop.stream.client import FIRST
from tests.interop.stream.peer import ClosedError, Code, Fields, Key, StreamPeer, frame, octets, pairs, string

MIB = 1 << 20


def test_a_handshake_tells_properties_mechanisms_limits_and_an_address(door):
    with door.stranger() as peer:
        told = peer.properties(product="test", connection_name="mine")
        assert {"product", "version", "platform"} <= told.keys()
        code, fields = peer.ask(Key.SASL_HANDSHAKE)
        assert code == Code.OK
        assert "PLAIN" in fields.strings()
        assert peer.authenticate() == Code.OK
        assert peer.tune() == (MIB, 60)
        assert peer.open_vhost() == Code.OK
        assert peer.connection_properties.keys() == {"advertised_host", "advertised_port"}
        assert int(peer.connection_properties["advertised_port"]) == door.address[1]


def test_no_properties_are_needed(door):
    with door.stranger() as peer:
        assert peer.code(Key.PEER_PROPERTIES, pairs({})) == Code.OK
        assert peer.code(Key.SASL_HANDSHAKE) == Code.OK
        assert peer.authenticate() == Code.OK


@pytest.mark.parametrize(
    ("login", "code"),
    [
        (("guest", "wrong"), Code.AUTHENTICATION_FAILURE),
        (("nobody", "guest"), Code.AUTHENTICATION_FAILURE),
        (("guest", ""), Code.AUTHENTICATION_FAILURE),
        (("guest", "guest", "SECRET"), Code.NO_MECHANISM),
    ],
    ids=str,
)
def test_a_login_that_fails_has_a_code_and_ends_the_connection(door, login, code):
    with door.stranger() as peer:
        peer.properties()
        assert peer.ask(Key.SASL_HANDSHAKE)[0] == Code.OK
        assert peer.authenticate(*login) == code
        assert peer.until_closed() is None


def test_a_vhost_that_is_not_there_ends_the_connection(door):
    with door.stranger() as peer:
        peer.properties()
        assert peer.ask(Key.SASL_HANDSHAKE)[0] == Code.OK
        assert peer.authenticate() == Code.OK
        peer.tune()
        with nullcontext() if door.is_ours else suppress(ClosedError):
            assert peer.open_vhost("nowhere") == Code.VHOST_FAILURE
        assert peer.until_closed() is None


def test_a_login_is_not_believed_before_it_is_over(door, stream):
    with door.stranger() as peer:
        peer.properties()
        peer.ask(Key.SASL_HANDSHAKE)
        peer.send(Key.DELETE, struct.pack(">I", 1) + string(stream))
        peer.until_closed()
    with door.client() as client:
        assert client.metadata(stream)[1][stream][0] == Code.OK


def test_what_comes_at_once_is_answered_in_order(door, stream):
    if not door.is_ours:
        pytest.skip("RabbitMQ drops the connection")
    whole = frame(Key.PEER_PROPERTIES, struct.pack(">I", 1) + pairs({}))
    whole += frame(Key.SASL_HANDSHAKE, struct.pack(">I", 2))
    login = string("PLAIN") + octets(b"\0guest\0guest")
    with door.stranger() as peer:
        peer.socket.sendall(whole + frame(Key.SASL_AUTHENTICATE, struct.pack(">I", 3) + login))
        for number, key in enumerate((Key.PEER_PROPERTIES, Key.SASL_HANDSHAKE, Key.SASL_AUTHENTICATE), 1):
            fields = Fields(peer.read_frame().payload)
            assert (fields.number(4), fields.number(2)) == (number, Code.OK), key
        peer.tune()
        requests = frame(Key.OPEN, struct.pack(">I", 4) + string("/"))
        requests += frame(Key.QUERY_OFFSET, struct.pack(">I", 5) + string("x") + string(stream))
        peer.socket.sendall(requests)
        codes = [struct.unpack_from(">IH", peer.read_frame().payload) for _ in range(2)]
        assert codes == [(4, Code.OK), (5, Code.NO_OFFSET)]


def test_frames_may_come_octet_by_octet(door, stream):
    with door.client() as client:
        assert client.declare(7, stream) == Code.OK
        whole = frame(Key.QUERY_OFFSET, struct.pack(">I", 77) + string("x") + string(stream))
        whole += frame(Key.PUBLISH, struct.pack(">BIQ", 7, 1, 5) + octets(b"slow"))
        for index in range(len(whole)):
            client.socket.sendall(whole[index : index + 1])
        assert client.confirmed(7, 1) == [5]
        assert client.subscribe(1, stream) == Code.OK
        assert [message.body for message in client.take(1)] == [b"slow"]


def test_heartbeats_come_when_they_were_asked_for(door):
    with door.client(heartbeat=1) as client:
        assert client.read_frame().key == Key.HEARTBEAT


def test_a_client_without_heartbeats_is_given_up(door):
    with door.client(heartbeat=1) as client:
        assert client.until_closed() is None or not door.is_ours


def test_a_heartbeat_is_taken(door):
    with door.client() as client:
        client.send(Key.HEARTBEAT)
        assert client.metadata() is not None


def test_an_unknown_command_is_answered_by_close(client):
    client.send(99, struct.pack(">I", 1))
    assert client.until_closed() == (Code.UNKNOWN_FRAME, "unknown frame")


def test_a_frame_that_cannot_be_read_ends_the_connection(door, client):
    client.send(Key.CREATE, struct.pack(">IH", 1, 5_000) + b"short")
    closed = client.until_closed()
    assert closed is not None or not door.is_ours


@pytest.mark.parametrize("octets_more", [1, 1 << 30])
def test_a_frame_above_what_was_agreed_on_ends_the_connection(door, octets_more):
    if not door.is_ours:
        pytest.skip("RabbitMQ waits for all of it")
    with door.client(frame_max=8_192) as client:
        client.socket.sendall(struct.pack(">I", min(8_192 + octets_more, 0x7FFFFFFF)) + bytes(8_192))
        assert client.until_closed() == (Code.FRAME_TOO_LARGE, "frame too large")


def test_a_frame_as_large_as_was_agreed_on_is_taken(door, stream):
    with door.client(frame_max=8_192) as client:
        assert client.declare(1, stream) == Code.OK
        client.publish(1, {1: bytes(8_192 - 9 - 12)})
        assert client.confirmed(1, 1) == [1]


def test_close_is_answered(client):
    assert client.code(Key.CLOSE, struct.pack(">H", Code.OK) + string("bye")) == Code.OK
    assert client.until_closed() is None


def test_a_connection_that_breaks_leaves_its_publishers_name_to_others(door, stream):
    for number in range(1, 4):
        with door.client() as client:
            assert client.declare(1, stream, "mine") == Code.OK
            client.publish(1, {number: b"x"})
            assert client.confirmed(1, 1) == [number]


def test_versions_of_commands_are_exchanged(door, client):
    if not door.is_ours:
        pytest.skip("RabbitMQ has it since 3.11")
    asked = struct.pack(">IHHHHHH", 2, Key.PUBLISH, 1, 1, Key.DELIVER, 1, 2)
    code, fields = client.ask(Key.COMMAND_VERSIONS, asked)
    assert code == Code.OK
    told = {fields.number(2): (fields.number(2), fields.number(2)) for _ in range(fields.number(4))}
    assert all(told[key][0] == 1 for key in (Key.PUBLISH, Key.SUBSCRIBE, Key.ROUTE, Key.PARTITIONS, Key.STATS))


def test_a_stranger_may_leave_at_any_time(door):
    for peer in (StreamPeer(door.address) for _ in range(5)):
        with peer:
            peer.socket.sendall(b"\0\0\0")
    with door.client() as client:
        assert client.subscribe(1, "nowhere", FIRST) == Code.NO_STREAM
