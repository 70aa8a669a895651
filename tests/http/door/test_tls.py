"""HTTPS, with real sockets."""

import contextlib
import os
import time
from pathlib import Path

import gevent
import pytest
from gevent import socket, ssl

from pybroker.daemon.config.management_options import ManagementOptions
from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.http.door import server as server_module, tls as tls_module
from pybroker.http.door.access_log import AccessLog
from pybroker.http.door.server import TlsServer
from pybroker.http.door.tls import Certificates, TlsError
from tests.certificates import make_certificates
from tests.http.conftest import SETTINGS, Api

REQUEST = b"GET /api/auth HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def document(made, **more):
    options = TlsOptions(Files(*map(Path, made.server)), head="management.ssl.", **more)
    return ManagementOptions("", 0, 0, 0, (), 0, "", "", 0, options).document()["tls"]


@pytest.fixture
def told():
    return []


@pytest.fixture
def serve(node, told):
    """Return a function that serves the HTTP API over TLS."""
    servers = []

    def serve(options):
        application = Api(node, SETTINGS._replace(transport_policy="max-age=1")).client.application
        servers.append(TlsServer(("127.0.0.1", 0), application, AccessLog(print), Certificates(options, told.append)))
        servers[-1].start()
        return servers[-1]

    yield serve
    for each in servers:
        each.stop()


def ask(server, made, client=None, name="localhost"):
    """Return an answer, and the serial number of the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(made.authority.certificate)
    if client is not None:
        context.load_cert_chain(*client)
    with socket.create_connection(server.address, timeout=10) as peer:
        tls = context.wrap_socket(peer, server_hostname=name)
        serial = tls.getpeercert()["serialNumber"]
        tls.sendall(REQUEST)
        found = b""
        while part := tls.recv(65_536):
            found += part
        return found, serial


def test_the_api_over_tls(serve, made):
    found, _ = ask(serve(document(made)), made)
    assert found.startswith(b"HTTP/1.1 200 OK")
    assert b"Strict-Transport-Security: max-age=1" in found


def test_a_peer_that_speaks_no_tls_or_nothing_holds_up_nobody(serve, made, monkeypatch, capfd):
    monkeypatch.setattr(server_module, "HANDSHAKE_S", 0.2)
    server = serve(document(made))
    with socket.create_connection(server.address, timeout=10) as silent:
        with socket.create_connection(server.address, timeout=10) as plain:
            plain.sendall(REQUEST)
            with contextlib.suppress(ConnectionError):
                assert b"200 OK" not in plain.recv(1_000)
        assert ask(server, made)[0].startswith(b"HTTP/1.1 200 OK")
        assert silent.recv(1) == b""
    assert "Traceback" not in capfd.readouterr().err


def test_those_without_a_handshake_give_way(serve, made, monkeypatch, capfd):
    monkeypatch.setattr(server_module, "CONNECTIONS_MAX", 4)
    monkeypatch.setattr(server_module, "SPARE", 1)
    server = serve(document(made))
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(server.address, timeout=10)) for _ in range(20)]
        assert ask(server, made)[0].startswith(b"HTTP/1.1 200 OK")
        assert held[0].recv(1) == b""
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "is_let_in"), [("client", True), ("stranger", False), ("expired", False), (None, False)]
)
def test_certificates_of_clients_are_verified(serve, made, name, is_let_in):
    options = document(made, authorities=made.authority.certificate, verify=True, required=True)
    server = serve(options)
    try:
        found, _ = ask(server, made, None if name is None else getattr(made, name))
    except OSError:
        found = b""
    assert found.startswith(b"HTTP/1.1 200 OK") == is_let_in


def test_files_that_change_are_read(serve, made, told, tmp_path):
    files = [tmp_path / "c.pem", tmp_path / "k.pem"]
    for path, octets in zip(files, made.server, strict=True):
        path.write_bytes(Path(octets).read_bytes())
    server = serve(document(made) | {"files": [str(path) for path in files]})
    certificates = server._certificates
    _, before = ask(server, made)
    other = make_certificates(tmp_path)
    files[0].write_bytes(Path(other.server.certificate).read_bytes())
    for _ in range(2):
        certificates.check()
    assert "the key does not belong to the certificate" in told[-1]
    assert ask(server, made)[1] == before
    files[1].write_bytes(Path(other.server.key).read_bytes())
    certificates.check()
    assert len(told) == 1, "it waits until the files are the same twice"
    certificates.check()
    assert told[-1] == f"new connections get the certificate in {files[0]}"
    assert ask(server, other)[1] != before
    certificates.check()
    assert len(told) == 2


def test_a_new_certificate_that_is_not_valid_now_is_not_used(serve, made, told, tmp_path, monkeypatch):
    files = [tmp_path / "c.pem", tmp_path / "k.pem"]
    for path, octets in zip(files, made.server, strict=True):
        path.write_bytes(Path(octets).read_bytes())
    server = serve(document(made) | {"files": [str(path) for path in files]})
    _, before = ask(server, made)
    for path, octets in zip(files, made.authority.server("new"), strict=True):
        path.write_bytes(Path(octets).read_bytes())
    now_s = time.time()
    for years, text in ((-5, "is not valid before"), (5, "has expired")):
        monkeypatch.setattr(tls_module.time, "time", lambda years=years: now_s + years * 365 * 86_400)
        for _ in range(3):
            server._certificates.check()
        assert text in told[-1]
        assert ask(server, made)[1] == before
        files[0].touch()
    assert len(told) == 2
    monkeypatch.setattr(tls_module.time, "time", lambda: now_s)
    for _ in range(2):
        server._certificates.check()
    assert told[-1] == f"new connections get the certificate in {files[0]}"
    assert ask(server, made)[1] != before


def test_an_encrypted_key_and_a_certificate_for_another_name(serve, made, capfd):
    encrypted = made.authority.server("encrypted", password="right")
    other = made.authority.server("other", ["other.test"], password="right")
    options = document(made, password="right", by_name={"other.test": Files(*other)})
    server = serve(options | {"files": [str(path) for path in encrypted]})
    serials = [ask(server, made, name=name)[1] for name in ("localhost", "OTHER.test")]
    assert serials[0] != serials[1]
    hello = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="aa.test")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    with socket.create_connection(server.address, timeout=10) as peer:
        peer.sendall(hello.read().replace(b"aa.test", b"\xff\xfe.test"))
        while peer.recv(1_000):
            pass
    assert capfd.readouterr().err == ""


def test_files_that_are_missing_are_told(made, told):
    with pytest.raises(TlsError, match="/none: No such file"):
        Certificates(document(made) | {"files": ["/none", "/none"]}, told.append)


def test_it_looks_again_and_again(made, told, monkeypatch):
    from pybroker.http.door import tls

    monkeypatch.setattr(tls, "WATCH_S", 0.0)
    certificates = Certificates(document(made), told.append)
    life = gevent.spawn(certificates.run)
    os.utime(made.server.certificate)
    gevent.sleep(0.05)
    life.kill()
    assert told
