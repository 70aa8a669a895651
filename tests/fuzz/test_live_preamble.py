"""Hostile newcomers to a running daemon: damaged PROXY headers and TLS handshakes.

Each is closed; the daemon's log shows no traceback, its memory stays flat, and neither sockets nor handshakes are lost.
"""

import contextlib
import resource
import socket
import ssl
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.certificates import make_certificates
from tests.fuzz.live_preamble import HEADERS, Target, run_newcomer
from tests.interop.broker_process import BrokerProcess
from tests.interop.peer import Peer
from tests.searches import share

GROWTH_OCTETS_MAX = 8 << 20
# A quarter of them may be in their handshake at once: few, so that those that are lost are missed. Each kind of
# listener has its part of these: AMQP, AMQP over TLS, streams.
FILES = 400
PLACES = FILES // 4 // 3
AT_ONCE = 8

PROXIED = """
proxy_protocol = true
proxy_protocol.trusted.1 = 127.0.0.0/8
loopback_users = none
"""


TLS = """
listeners.ssl.1 = 127.0.0.1:0
ssl_options.cacertfile = {made.authority.certificate}
ssl_options.certfile = {made.server.certificate}
ssl_options.keyfile = {made.server.key}
ssl_options.verify = verify_peer
"""
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


@pytest.fixture
def made(tmp_path):
    folder = tmp_path / "certificates"
    folder.mkdir()
    return make_certificates(folder)


@pytest.fixture
def broker(tmp_path, made):
    broker = BrokerProcess(tmp_path, config=PROXIED + TLS.format(made=made))
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
    yield broker
    status = broker.stop()
    assert "Traceback" not in broker.log
    assert status == (0, "")


@pytest.fixture
def contexts(made):
    """Return contexts of clients: of each version, with a certificate and without."""
    found = []
    for version in VERSIONS:
        for certificate in (None, made.client):
            context = ssl.create_default_context(cafile=made.authority.certificate)
            context.minimum_version = context.maximum_version = version
            if certificate is not None:
                context.load_cert_chain(*certificate)
            found.append(context)
    return tuple(found)


def open_honestly(target: Target) -> Peer:
    """Return a client that has come in as it should."""
    peer = Peer(target.address, timeout_s=60)
    peer.socket.sendall(HEADERS[0])
    if target.contexts:
        peer.socket = target.contexts[0].wrap_socket(peer.socket, server_hostname="localhost")
    return peer.open()


def sockets(broker: BrokerProcess) -> int:
    """Return how many there are; the broker opens a file for its samples, too, when the first one is due."""
    found = 0
    for each in Path(f"/proc/{broker.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += str(each.readlink()).startswith("socket:")
    return found


def knock(broker: BrokerProcess, target: Target, count: int, seed: int) -> int:
    """Run so many hostile newcomers; return by how many octets the daemon's memory grew in the last two thirds."""
    endings, settled = Counter(), 0
    before = sockets(broker)
    open_honestly(target).close()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number, ending in enumerate(pool.map(lambda n: run_newcomer(target, n), range(seed, seed + count))):
            endings[ending] += 1
            if number % 1_000 == 0:
                assert "Traceback" not in broker.log, number
                open_honestly(target).close()
            if number == count // 3:
                settled = broker.rss_octets()
    growth = broker.rss_octets() - settled
    print(f"growth {growth} octets")
    for ending, times in sorted(endings.items()):
        print(f"{times:7} {ending}")
    until(lambda: sockets(broker) == before)
    # Each place that a newcomer may have in its handshake is free again.
    idle = [socket.create_connection(target.address) for _ in range(PLACES - 1)]
    open_honestly(target).close()
    for each in idle:
        each.close()
    return growth


def until(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.search
@pytest.mark.timeout(3_600)
def test_damaged_proxy_headers_leave_nothing_behind(broker, seed):
    assert knock(broker, Target(broker.address), share(150, 50_000), seed) < GROWTH_OCTETS_MAX


@pytest.mark.search
@pytest.mark.timeout(3_600)
def test_damaged_handshakes_leave_nothing_behind(broker, contexts, seed):
    target = Target((broker.host, broker.tls_port), contexts)
    assert knock(broker, target, share(100, 50_000), seed) < GROWTH_OCTETS_MAX
