"""HAProxy in front of the daemon, with each of its ways to say whose connection it passes on."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pika
import psutil
import pytest

from tests.interop.broker_process import BrokerProcess

WAYS = {
    "send-proxy": "send-proxy",
    "send-proxy-v2": "send-proxy-v2",
    "options": "send-proxy-v2 proxy-v2-options crc32c,unique-id,authority",
}
BROKER = "log.file.level = debug\nproxy_protocol = true\nproxy_protocol.trusted.1 = 127.0.0.1\n"
CONFIG = """
defaults
    mode tcp
    timeout connect 10s
    timeout client 60s
    timeout server 60s
"""
WAY = """
listen way{n}
    bind fd@{fd}
    unique-id-format %pid-%rt
    server broker {address}:{port} {way} check inter 100ms
"""

pytestmark = pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")


class Proxied(NamedTuple):
    """A broker and the port of each way to it."""

    broker: BrokerProcess
    ports: dict[str, int]


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    """Return a broker that only talks to proxies, and one in front of it."""
    folder = tmp_path_factory.mktemp("broker")
    broker = BrokerProcess(folder, config=BROKER)
    sockets = {name: socket.create_server(("127.0.0.1", 0)) for name in WAYS}
    config = CONFIG
    for n, (name, way) in enumerate(WAYS.items()):
        config += WAY.format(n=n, fd=sockets[name].fileno(), address=broker.host, port=broker.port, way=way)
    path = Path(folder, "haproxy.cfg")
    path.write_text(config)
    haproxy = subprocess.Popen(["haproxy", "-db", "-f", path], pass_fds=[each.fileno() for each in sockets.values()])
    yield Proxied(broker, {name: each.getsockname()[1] for name, each in sockets.items()})
    haproxy.terminate()
    haproxy.wait()
    for each in sockets.values():
        each.close()
    assert broker.stop() == (0, "")
    assert "Traceback" not in broker.log


@pytest.mark.slow
def test_health_checks_alone_are_logged_as_debug(proxied):
    def closed() -> list[str]:
        return [line for line in proxied.broker.log.splitlines() if "closing" in line]

    while len(closed()) < 5 * len(WAYS):
        time.sleep(0.05)
    assert [line for line in closed() if "[debug]" not in line] == []


@pytest.mark.parametrize("way", WAYS)
def test_the_client_is_shown_and_its_messages_pass(proxied, way):
    port = proxied.ports[way]
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        [client] = [each for each in psutil.Process().net_connections("tcp") if each.raddr == ("127.0.0.1", port)]
        columns = ("name", "peer_host", "peer_port", "host", "port")
        rows = proxied.broker.ctl("list_connections", *columns, "--quiet", "--no-table-headers").split("\n")
        assert rows[0].split("\t") == [
            f"127.0.0.1:{client.laddr.port} -> 127.0.0.1:{port}",
            *("127.0.0.1", str(client.laddr.port)),
            *("127.0.0.1", str(port)),
        ]
        channel = connection.channel()
        channel.queue_declare("proxied", exclusive=True)
        channel.confirm_delivery()
        bodies = [b"x" * n for n in (0, 1, 5_000, 300_000)]
        for body in bodies:
            channel.basic_publish("", "proxied", body)
        assert [channel.basic_get("proxied", auto_ack=True)[2] for _ in bodies] == bodies


def test_without_the_proxy_nobody_comes_in(proxied):
    with socket.create_connection(proxied.broker.address) as client:
        client.sendall(b"AMQP\0\0\x09\1")
        assert client.recv(10) == b""
