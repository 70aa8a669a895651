"""Hostile requests to a running pybroker-web: each is answered or closed, nothing is left, and it goes on serving."""

import contextlib
import random
import resource
import socket
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.daemon.running import Running
from tests.daemon.test_web import child_of, config, free_port, port, scrape, short_folder
from tests.searches import share

__all__ = ("config", "port", "short_folder")

GROWTH_OCTETS_MAX = 16 << 20
AT_ONCE = 8
# Idle connections of one client: more than are served at once, fewer than the kernel lets wait besides.
IDLE = 400
GOOD = (
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
    b"GET /metrics/per-object HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"GET /metrics/detailed?family=queue_metrics&vhost=%2F&queue=a.* HTTP/1.0\r\n\r\n",
    b"HEAD /metrics/memory-breakdown HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
)
LOGIN = b"Host: localhost\r\nAuthorization: Basic Z3Vlc3Q6Z3Vlc3Q=\r\n"
JSON = b'{"username":"guest","password":"guest","a":[1,{"b":null}]}'
# Of the HTTP API.
CALLS = (
    b"GET /api/overview HTTP/1.1\r\n" + LOGIN + b"\r\n",
    b"GET /api/queues/%2F/a%2Fb?columns=name,messages&sort=name&sort_reverse=true HTTP/1.1\r\n" + LOGIN + b"\r\n",
    b"GET /api/exchanges?page=1&page_size=2&name=a.*&use_regex=true HTTP/1.1\r\n" + LOGIN + b"\r\n",
    b"GET /api/bindings/%2F/e/amq.topic/q/q/~ HTTP/1.1\r\n" + LOGIN + b"X-Reason: a\r\n\r\n",
    b"GET /api/whoami HTTP/1.1\r\nHost: localhost\r\nCookie: pybroker-session=abc; x=y\r\n\r\n",
    b"GET /api/health/checks/certificate-expiration/1/days HTTP/1.0\r\n" + LOGIN + b"\r\n",
    b"OPTIONS /api/queues HTTP/1.1\r\nHost: [::1]:1\r\nOrigin: https://a\r\n\r\n",
    b"POST /api/pybroker/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(JSON), JSON),
    b'GET /app.js HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: W/"x"\r\nRange: bytes=0-1\r\n\r\n',
)
PARTS = (
    b"\0",
    b"\r\n",
    b"\n",
    b"\x80\xff",
    b"%00",
    b"%",
    b"../",
    b"?",
    b"HTTP/1.1",
    b"9" * 30,
    b"x" * 9_000,
    b": ",
    b"\t",
)


def damaged(seed: int, good: tuple[bytes, ...]) -> bytes:
    """Return one or several requests, one of them damaged."""
    dice = random.Random(seed)
    octets = bytearray(b"".join(dice.choice(good) for _ in range(dice.randint(1, 3))))
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(octets) + 1)
        match dice.randrange(4):
            case 0:
                octets[at : at + dice.randint(1, 20)] = b""
            case 1:
                octets[at:at] = dice.choice(PARTS)
            case 2:
                octets[at : at + 1] = bytes([dice.randrange(256)])
            case _:
                del octets[at:]
        octets = octets or bytearray(b"\0")
    return bytes(octets)


def attack(place: int, good: tuple[bytes, ...], seed: int) -> None:
    """Send it, read what comes, and leave in one way or another."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", place), timeout=0.3) as peer:
        peer.sendall(damaged(seed, good))
        if seed % 3:
            peer.shutdown(socket.SHUT_WR)
        if seed % 4:
            while peer.recv(65_536):
                pass


@pytest.fixture
def web(short_folder, config, port):
    """Return the process of pybroker-web, which serves."""
    running = Running(short_folder, config=config, web=True)
    scrape(port)
    yield child_of(running)
    log = "".join(path.read_text() for path in short_folder.rglob("*.log"))
    assert running.stop() == (0, "")
    assert "Traceback" not in log, log[log.index("Traceback") :]
    assert "starting it again" not in log


@pytest.fixture
def api_port(config):
    """Return the port of the HTTP API, which is open."""
    place = free_port()
    config.write_text(config.read_text().replace("management.enabled = false", f"management.tcp.port = {place}"))
    return place


@pytest.mark.search
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("good", [GOOD, CALLS], ids=["metrics", "api"])
def test_damaged_requests_leave_nothing_behind(api_port, web, port, seed, good):
    count, settled = share(300, 100_000), 0
    place = port if good is GOOD else api_port
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number, _ in enumerate(pool.map(lambda n: attack(place, good, n), range(seed, seed + count))):
            if number % 1_000 == 0:
                scrape(port)
            if number == count // 3:
                settled = web.memory_info().rss
    scrape(port)
    assert web.memory_info().rss - settled < GROWTH_OCTETS_MAX
    assert web.status() != psutil.STATUS_ZOMBIE


def test_idle_connections_and_bodies_that_dribble_are_bounded(web, port):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * IDLE), hard))
    try:
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(IDLE)]
        idle[0].sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 1_000)
        idle[1].sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" * 2_000)
        time.sleep(0.5)
        assert web.num_fds() < IDLE
        assert web.memory_info().rss < 100 << 20
        for each in idle:
            each.close()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            assert answer.status == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
