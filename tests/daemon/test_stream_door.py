"""A daemon with listeners of the stream protocol: in plain, over TLS, as operators see it."""

import json
import ssl
import time

import pytest

from tests.certificates import make_certificates
from tests.daemon.running import BASE, Running
from tests.interop.stream.client import Client
from tests.interop.stream.peer import Code

WAIT_S = 30


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def running(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("node")
    config = folder / "pybroker.conf"
    lines = [
        "stream.listeners.tcp.1 = 127.0.0.1:0",
        "stream.listeners.ssl.1 = 127.0.0.1:0",
        f"ssl_options.certfile = {made.server.certificate}",
        f"ssl_options.keyfile = {made.server.key}",
        f"ssl_options.cacertfile = {made.authority.certificate}",
        "ssl_options.verify = verify_peer",
        "auth_mechanisms.1 = PLAIN",
        "auth_mechanisms.2 = EXTERNAL",
        "ssl_cert_login_from = common_name",
        "ssl_options.fail_if_no_peer_cert = true",
    ]
    config.write_text("\n".join(lines) + "\n")
    found = Running(folder, *BASE, config=config)
    yield found
    assert (0, "") == found.stop()


def address(running, label: str = "stream listener") -> tuple[str, int]:
    return "127.0.0.1", int(running.places[label][0].rpartition(":")[2])


@pytest.fixture
def client(running):
    with Client(address(running)).open() as client:
        yield client


def test_the_listeners_are_listed(running):
    said = running.ctl("-q", "listeners")
    assert "protocol: stream, purpose: stream\n" in said
    assert "protocol: stream/ssl, purpose: stream over TLS" in said
    running.ctl("-q", "check_protocol_listener", "stream")
    running.ctl("-q", "check_port_listener", str(address(running)[1]))
    assert f"started TCP listener on 127.0.0.1:{address(running)[1]}" in running.log
    assert f"started TLS (SSL) listener on 127.0.0.1:{address(running, 'stream over TLS listener')[1]}" in running.log


def test_over_tls_a_certificate_is_as_good_as_a_password(running, made):
    pair = made.client
    context = ssl.create_default_context(cafile=made.authority.certificate)
    context.load_cert_chain(pair.certificate, pair.key)
    client = Client(address(running, "stream over TLS listener"))
    client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
    with client:
        client.properties()
        assert client.authenticate("", "", "EXTERNAL") == Code.OK
        client.tune()
        assert client.open_vhost() == Code.OK
        assert client.create("over-tls") == Code.OK
        nodes, _ = client.metadata("over-tls")
        assert [address(running, "stream over TLS listener")] == [*nodes.values()]
        (row,) = connections(running)
        assert ("guest", True, "EXTERNAL") == (row["user"], row["ssl"], row["auth_mechanism"])


def connections(running) -> list[dict]:
    columns = ("pid", "user", "protocol", "state", "ssl", "auth_mechanism", "channels", "timeout", "frame_max")
    return json.loads(running.ctl("-q", "list_connections", *columns, "--formatter", "json"))


def test_a_connection_is_listed_and_closed(running, client):
    (row,) = connections(running)
    shown = {name: row[name] for name in ("user", "protocol", "state", "ssl", "channels", "frame_max")}
    assert {
        "user": "guest",
        "protocol": "stream",
        "state": "running",
        "ssl": False,
        "channels": 0,
        "frame_max": 1_048_576,
    } == shown
    assert [] == json.loads(running.ctl("-q", "list_channels", "--formatter", "json"))
    running.ctl("close_connection", row["pid"], "maintenance")
    assert client.until_closed() is None  # without a word, as in RabbitMQ


def test_subscriptions_are_consumers(running, client):
    assert client.create("s") == Code.OK
    client.subscribe(7, "s", 1)
    (row,) = json.loads(running.ctl("-q", "list_consumers", "queue_name", "consumer_tag", "--formatter", "json"))
    assert {"queue_name": "s", "consumer_tag": "stream.subid-7"} == row
    client.declare(1, "s")
    client.number(1, range(10))
    client.take(10)
    rows = json.loads(running.ctl("-q", "list_streams", "name", "messages", "readers", "--formatter", "json"))
    assert {"name": "s", "messages": 10, "readers": 1} in rows
    running.ctl("close_all_connections", "maintenance")
    assert client.until_closed() is None  # without a word, as in RabbitMQ


def test_a_paused_stream_holds_its_publishers(running, client):
    client.create("held")
    client.declare(1, "held")
    running.ctl("pause_queue", "held", "--publish", "--why", "a test")
    client.publish(1, {1: b"x"})
    deadline = time.monotonic() + WAIT_S
    while "held" not in running.ctl("why_blocked"):
        assert time.monotonic() < deadline
    running.ctl("resume_queue", "held")
    assert [1] == client.confirmed(1, 1)
