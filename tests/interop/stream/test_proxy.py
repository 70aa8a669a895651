"""Proxies in front of the port of streams: clients are shown by the addresses that PROXY headers tell."""

import socket
import struct

import pytest

from tests.interop.broker_process import BrokerProcess
from tests.interop.stream.client import FIRST, Client
from tests.interop.stream.peer import ClosedError, Code

CONFIG = "loopback_users = none\nproxy_protocol = true\nproxy_protocol.trusted.1 = 127.0.0.1\n"
V1 = b"PROXY TCP4 192.0.2.7 192.0.2.1 1234 5552\r\n"
ADDRESSES = bytes([192, 0, 2, 9, 192, 0, 2, 1]) + struct.pack(">HH", 777, 5552)
V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack(">H", len(ADDRESSES)) + ADDRESSES


@pytest.fixture
def proxied(tmp_path):
    broker = BrokerProcess(tmp_path, config=CONFIG)
    if not broker.is_ours:
        pytest.skip("it needs a broker of its own")
    yield broker, (broker.host, int(broker.places["stream listener"][0].rpartition(":")[2]))
    broker.stop()


def test_clients_come_through_proxies_alone_and_have_their_own_addresses(proxied, monkeypatch):
    broker, address = proxied
    connect = socket.create_connection
    header = b""

    def through_proxy(*arguments, **options):
        found = connect(*arguments, **options)
        found.sendall(header)
        return found

    monkeypatch.setattr(socket, "create_connection", through_proxy)
    for header in (V1, V2):
        with Client(address).open() as client:
            if header is V1:
                assert client.create("s") == Code.OK
                client.declare(1, "s")
                client.publish(1, {1: b"hello"})
            client.subscribe(1, "s", FIRST)
            assert [message.body for message in client.chunk().messages] == [b"hello"]
            # Others are sent where this client came to.
            assert [*client.metadata("s")[0].values()] == [("192.0.2.1", 5552)]
    header = b""
    with pytest.raises((ClosedError, ConnectionResetError)):
        Client(address).open()
    broker.stop()
    assert "(192.0.2.7:1234 -> 192.0.2.1:5552): user 'guest' authenticated" in broker.log
    assert "(192.0.2.9:777 -> 192.0.2.1:5552): user 'guest' authenticated" in broker.log
    assert "malformed PROXY header: the connection begins with something else" in broker.log
    assert "Traceback" not in broker.log
