"""Reloads of a daemon at work: certificates for new connections, and every key again and again under load."""

import json
import os
import shutil
import socket
import ssl
import threading

import pika
import pytest

from tests.certificates import make_certificates
from tests.daemon.config.test_difference import LINES
from tests.daemon.running import Running

ROUNDS = 1
ROUNDS_SLOW = 100
TEXT = """
listeners.ssl.1 = 127.0.0.1:0
ssl_options.certfile = {folder}/server.pem
ssl_options.keyfile = {folder}/server.key
ssl_options.cacertfile = {folder}/authority.pem
ssl_options.verify = verify_peer
"""
# Of the options of TLS: values that can be, here.
TLS_LINES = {
    "ssl_options.cacertfile": "ssl_options.cacertfile = {folder}/other-authority.pem",
    "ssl_options.certfile": "ssl_options.certfile = {folder}/second.pem\nssl_options.keyfile = {folder}/second.key",
    "ssl_options.keyfile": "ssl_options.certfile = {folder}/second.pem\nssl_options.keyfile = {folder}/second.key",
    "ssl_options.password": "ssl_options.password = secret",
    "ssl_options.sni.HOST.certfile": "ssl_options.sni.a.certfile = {folder}/second.pem\n"
    "ssl_options.sni.a.keyfile = {folder}/second.key",
    "ssl_options.sni.HOST.keyfile": "ssl_options.sni.a.certfile = {folder}/second.pem\n"
    "ssl_options.sni.a.keyfile = {folder}/second.key",
}
WITHOUT_FILES = {"ssl_options.dhfile"}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    made = make_certificates(folder)
    made.authority.server("second", ["localhost", "127.0.0.1", "second"])
    return made


@pytest.fixture
def running(tmp_path, certificates):
    folder = certificates.authority.folder
    (tmp_path / "p.conf").write_text(TEXT.format(folder=folder))
    running = Running(tmp_path, config=tmp_path / "p.conf")
    yield running
    code, stderr = running.stop()
    assert code == 0, stderr
    assert "Traceback" not in running.log + stderr


def tls_port(running):
    listeners = json.loads(running.ctl("listeners", "--formatter", "json"))["listeners"]
    return next(each["port"] for each in listeners if each["protocol"] == "amqp/ssl")


def context_of(certificates):
    context = ssl.create_default_context(cafile=certificates.authority.certificate)
    context.load_cert_chain(*certificates.client)
    return context


def connect(port, certificates=None):
    options = None if certificates is None else pika.SSLOptions(context_of(certificates), "localhost")
    return pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", port, ssl_options=options, heartbeat=0, blocked_connection_timeout=60)
    )


def served(port, certificates):
    """Return the certificate that a newcomer sees (DER)."""
    context = context_of(certificates)
    with (
        socket.create_connection(("127.0.0.1", port), 60) as peer,
        context.wrap_socket(peer, server_hostname="localhost") as tls,
    ):
        return tls.getpeercert(True)


def test_a_certificate_is_reloaded_for_new_connections_or_refused(running, certificates):
    port, folder = tls_port(running), certificates.authority.folder
    path, text = running.folder / "p.conf", (running.folder / "p.conf").read_text()
    stays = connect(port, certificates)
    first = served(port, certificates)
    assert first == certificates.server.der
    path.write_text(text.replace("server.", "second."))
    running.ctl("config_reload")
    second = served(port, certificates)
    assert second != first
    path.write_text(text.replace("server.pem", "client.pem"))
    told = running.ctl("config_reload", expected=os.EX_CONFIG)
    assert f"{folder}/server.key: the key does not belong to the certificate in {folder}/client.pem" in told
    assert served(port, certificates) == second
    assert "the key does not belong" in running.ctl("alarms")
    path.write_text(text)
    running.ctl("config_reload")
    assert served(port, certificates) == first
    assert "the key does not belong" not in running.ctl("alarms")
    stays.channel().queue_declare("q")
    stays.close()


def test_files_of_tls_that_changed_are_read_though_no_key_did(running, certificates, tmp_path):
    port, text = tls_port(running), (running.folder / "p.conf").read_text()
    mine = tmp_path / "mine"
    shutil.copytree(certificates.authority.folder, mine)
    (running.folder / "p.conf").write_text(text.replace(str(certificates.authority.folder), str(mine)))
    running.ctl("config_reload")
    shutil.copy(mine / "second.pem", mine / "server.pem")
    shutil.copy(mine / "second.key", mine / "server.key")
    assert served(port, certificates) == certificates.server.der
    assert "no value has changed" in running.ctl("config_reload")
    assert served(port, certificates) != certificates.server.der


def test_tls_that_only_a_restart_would_begin_is_checked_too(tmp_path, certificates):
    (tmp_path / "p.conf").write_text("")
    running = Running(tmp_path, config=tmp_path / "p.conf")
    text = TEXT.format(folder=certificates.authority.folder)
    (tmp_path / "p.conf").write_text(text.replace("server.key", "client.key"))
    assert "the key does not belong" in running.ctl("config_reload", expected=os.EX_CONFIG)
    (tmp_path / "p.conf").write_text(text)
    assert "Restart the node for: listeners.ssl.1" in running.ctl("config_reload")
    running.stop()


class Client(threading.Thread):
    """Publishes numbers with confirms, and takes them back, until it is stopped; `error` is what ended it otherwise.

    It has logged in for good when it has `begun`: some keys keep newcomers out.
    """

    def __init__(self, name, connect):
        super().__init__(name=name, daemon=True)
        self.connect = connect
        self.begun = threading.Event()
        self.stopped = threading.Event()
        self.sent = self.got = 0
        self.error = None
        self.start()

    def run(self):
        try:
            connection = self.connect()
            channel = connection.channel()
            channel.queue_declare(self.name, durable=True)
            channel.confirm_delivery()
            consumer = self.connect()
            taken = consumer.channel()
            deliveries = taken.consume(self.name, inactivity_timeout=60)
            self.begun.set()
            while not self.stopped.is_set():
                for _ in range(50):
                    channel.basic_publish("", self.name, str(self.sent).encode())
                    self.sent += 1
                while self.got < self.sent:
                    method, _, body = next(deliveries)
                    assert int(body) == self.got, f"{body} instead of {self.got}"
                    taken.basic_ack(method.delivery_tag)
                    self.got += 1
            taken.cancel()
            consumer.close()
            connection.close()
        except BaseException as error:  # noqa: BLE001 - the test tells
            self.error = error
            self.begun.set()


def lines(folder):
    """Yield, of every key that a reload applies, its lines as they can be here."""
    for name, text in (LINES | TLS_LINES).items():
        if name not in WITHOUT_FILES:
            yield text.format(folder=folder) if name in TLS_LINES else text


def keep_reloading(running, certificates, rounds):
    folder = certificates.authority.folder
    base = TEXT.format(folder=folder)
    port = tls_port(running)
    clients = [Client("plain", lambda: connect(running.port)), Client("tls", lambda: connect(port, certificates))]
    for client in clients:
        assert client.begun.wait(60)
    for _ in range(rounds):
        for text in lines(folder):
            keys = {line.partition(" = ")[0] for line in text.splitlines()}
            kept = [line for line in base.splitlines() if line.partition(" = ")[0] not in keys]
            for whole in ("\n".join([*kept, text]), base):
                (running.folder / "p.conf").write_text(whole + "\n")
                told = running.ctl("config_reload")
                assert "value has changed:" in told or "values have changed:" in told, (text, told)
            assert [client.error for client in clients] == [None, None], text
    for client in clients:
        client.stopped.set()
    for client in clients:
        client.join(60)
    assert [client.error for client in clients] == [None, None]
    assert all(client.got == client.sent > 0 for client in clients)
    closed = [line for line in running.log.splitlines() if "closed unexpectedly" in line or "[error]" in line]
    assert closed == []


def test_every_key_changes_under_load_and_nobody_notices(running, certificates):
    keep_reloading(running, certificates, ROUNDS)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_every_key_changes_a_hundred_times_under_load_and_nobody_notices(running, certificates):
    keep_reloading(running, certificates, ROUNDS_SLOW)
