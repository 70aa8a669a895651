"""A daemon with TLS, from its configuration to a client: banner, listings, versions, client certificates, bad files."""

import socket
import ssl
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.daemon.tls.build import build
from pybroker.daemon.tls.front import thread_count
from pybroker.net.tls_context import hush
from pybroker.net.tls_handshake import explain
from tests.certificates import make_certificates
from tests.daemon.running import Running
from tests.net.conftest import PROTOCOL_HEADER

LABEL = "AMQP over TLS listener"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def configured(made, *more: str) -> str:
    lines = [
        "listeners.tcp = none",
        "stream.listeners.tcp = none",
        "listeners.ssl.default = 127.0.0.1:0",
        "node.name = test@here",
        f"ssl_options.certfile = {made.server.certificate}",
        f"ssl_options.keyfile = {made.server.key}",
        *more,
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def running(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("node")
    config = folder / "pybroker.conf"
    config.write_text(
        configured(
            made,
            f"ssl_options.cacertfile = {made.authority.certificate}",
            "ssl_options.verify = verify_peer",
            "ssl_options.fail_if_no_peer_cert = true",
        )
    )
    found = Running(folder, "--log-level", "info", config=config)
    yield found
    found.stop()


def test_a_core_is_left_to_the_loop():
    assert [thread_count(cores) for cores in (1, 2, 3, 64)] == [1, 1, 2, 2]


def port_of(running) -> int:
    return int(running.places[LABEL][0].rpartition(":")[2])


def start_of(running, context) -> bytes:
    plain = socket.create_connection(("127.0.0.1", port_of(running)), 10)
    with plain, context.wrap_socket(plain, server_hostname="localhost") as tls:
        tls.sendall(PROTOCOL_HEADER)
        return tls.recv(100_000)


def client_context(made, pair=None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=made.authority.certificate)
    if pair is not None:
        context.load_cert_chain(*pair)
    return context


def test_a_client_with_the_right_certificate_is_served(running, made):
    assert b"RabbitMQ" in start_of(running, client_context(made, made.client))


def test_others_are_refused_with_a_line_each(running, made):
    for pair in (made.stranger, made.expired, None):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            start_of(running, client_context(made, pair))
    running.wait_for_log("the client sent no certificate")
    assert "the client's certificate is not trusted: certificate has expired" in running.log
    assert "the client's certificate is not trusted: unable to get local issuer certificate" in running.log


def test_the_listener_is_shown_as_rabbitmq_shows_it(running):
    port = port_of(running)
    line = f"port: {port}, protocol: amqp/ssl, purpose: AMQP 0-9-1 over TLS"
    assert line in running.ctl("listeners")
    assert line in running.ctl("status")
    running.ctl("check_protocol_listener", "amqp/ssl")
    running.ctl("check_protocol_listener", "amqps")
    running.ctl("check_port_listener", str(port))
    running.ctl("check_port_connectivity")
    running.wait_for_log(f"started TLS (SSL) listener on 127.0.0.1:{port}")


def test_a_stopped_app_comes_back_on_its_port(running, made):
    port = port_of(running)
    running.ctl("stop_app")
    running.ctl("start_app")
    running.ctl("check_port_listener", str(port))
    assert b"RabbitMQ" in start_of(running, client_context(made, made.client))


def test_files_that_do_not_fit_stop_the_start_with_one_sentence(made, tmp_path):
    config = tmp_path / "pybroker.conf"
    config.write_text(configured(made, "").replace(str(made.server.key), str(made.client.key)))
    found = Running(tmp_path, "--port", "0", config=config)
    code, stderr = found.ended()
    assert code == 78
    assert stderr == (
        f"pybroker: {made.client.key}: the key does not belong to the certificate in {made.server.certificate}\n"
    )


def check(config) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "pybroker.daemon", "--check", "--config", str(config)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_tells_of_the_certificate_or_why_it_cannot_be_used(made, tmp_path):
    config = tmp_path / "pybroker.conf"
    config.write_text(configured(made))
    told = check(config)
    assert told.returncode == 0
    assert f"TLS certificate: {made.server.certificate}, CN=localhost, valid 20" in told.stdout
    config.write_text(configured(made, "ssl_options.cacertfile = /nowhere"))
    refused = check(config)
    assert (refused.returncode, refused.stderr) == (78, "pybroker: /nowhere: No such file or directory\n")


def test_a_name_that_is_not_ascii_is_refused_without_a_traceback(made, monkeypatch, capsys):
    monkeypatch.setattr(sys, "unraisablehook", hush)
    files = Files(*made.server)
    contexts = build(TlsOptions(files, by_name={"other.test": files}))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello := ssl.MemoryBIO(), server_hostname="aa.test")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    incoming.write(hello.read().replace(b"aa.test", b"\xff\xfe.test"))
    with pytest.raises(ssl.SSLError) as raised:
        contexts.wrap(incoming, outgoing).do_handshake()
    assert explain(raised.value) == "the name that the client asks for (SNI) is not ASCII"
    assert capsys.readouterr().err == ""


def test_other_errors_that_python_cannot_raise_are_shown(monkeypatch):
    shown = []
    monkeypatch.setattr(sys, "__unraisablehook__", shown.append)
    found = SimpleNamespace(exc_value=ValueError("a bug"), object=b"what")
    hush(found)
    assert shown == [found]
