"""Handshakes on real sockets: let in, refused with an alert and a line, not TLS at all, too late, in small pieces."""

import gc
import ssl
import weakref

import gevent
import pytest

from pybroker.net.tls_context import TlsContexts
from pybroker.net.tls_handshake import explain, is_encrypted, whole_records
from tests.certificates import Authority, make_certificates
from tests.loop import until
from tests.net.conftest import PROTOCOL_HEADER
from tests.net.tls import Tls, client_context, server_context


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def tls(server, made):
    contexts = TlsContexts(server_context(made.server), {}, verifies=False, depth=10)
    found = Tls(server, contexts)
    yield found
    found.close()


@pytest.fixture
def mutual(server, made):
    context = server_context(made.server, made.authority, required=True)
    found = Tls(server, TlsContexts(context, {}, verifies=True, depth=0))
    yield found
    found.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_begins_behind_the_handshake(server, made, tls, version):
    client = tls.connect(client_context(made.authority, version=version))
    client.open()
    [session] = server.broker.sessions.values()
    assert session.tls.protocol == client.sock.version().lower()
    assert (len(server.preambles), sum(server._handshakes.values())) == (0, 0)


def test_octets_that_came_with_the_end_of_the_handshake_are_read(server, made, tls):
    """The client's last message and the protocol header arrive in one piece."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    end = client_context(made.authority, gevents=False).wrap_bio(incoming, outgoing, server_hostname="localhost")
    client = tls.connect()
    while True:
        try:
            end.do_handshake()
            break
        except ssl.SSLWantReadError:
            client.sock.sendall(outgoing.read())
            incoming.write(client.sock.recv(65_536))
    end.write(PROTOCOL_HEADER)
    client.sock.sendall(outgoing.read())
    incoming.write(client.sock.recv(65_536))
    assert b"RabbitMQ" in end.read(65_536)


def test_a_hello_in_pieces_is_put_together_before_a_thread_sees_it(server, made, tls, monkeypatch):
    jobs = []
    submit = tls.line.submit
    monkeypatch.setattr(type(tls.line), "submit", lambda _, *job: (jobs.append(job), submit(*job)))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    end = client_context(made.authority, gevents=False).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    client = tls.connect()
    hello = outgoing.read()
    for at in range(0, len(hello), 50):
        client.sock.sendall(hello[at : at + 50])
        gevent.sleep(0.001)
    assert client.sock.recv(1)
    assert len(jobs) == 1


@pytest.mark.parametrize(
    ("whose", "reason"),
    [
        ("stranger", "the client's certificate is not trusted: unable to get local issuer certificate"),
        ("expired", "the client's certificate is not trusted: certificate has expired"),
        (None, "the client sent no certificate"),
    ],
)
def test_a_client_that_is_not_trusted_gets_an_alert_and_a_line(server, made, mutual, caplog, whose, reason):
    pair = getattr(made, whose) if whose else None
    client = mutual.connect(client_context(made.authority, pair))
    with pytest.raises(ssl.SSLError, match=r"(?i)alert"):
        client.sock.recv(1)
    assert not server.broker.sessions
    assert not any(server._handshakes.values())
    [line] = caplog.messages
    assert line.startswith("closing amqp/ssl connection 127.0.0.1:")
    assert line.endswith(f": the TLS handshake failed: {reason}")


def is_closed(client) -> bool:
    try:
        return client.sock.recv(1) == b""
    except OSError:
        return True


def test_a_client_that_is_too_deep_is_not_let_in(server, made, mutual, caplog, tmp_path):
    deep = Authority(tmp_path, "between", made.authority).client("deep")
    client = mutual.connect(client_context(made.authority, deep))
    assert is_closed(client)
    assert "ssl_options.depth" in caplog.text
    assert not server.broker.sessions


def test_a_client_that_does_not_trust_the_server_is_named(server, made, tls, caplog, tmp_path):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    end = client_context(Authority(tmp_path), gevents=False).wrap_bio(incoming, outgoing, server_hostname="localhost")
    client = tls.connect()
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    client.sock.sendall(outgoing.read())
    incoming.write(client.sock.recv(65_536))
    with pytest.raises(ssl.SSLCertVerificationError):
        end.do_handshake()
    client.sock.sendall(outgoing.read())
    until(lambda: not any(server._handshakes.values()))
    assert "the client gave up: unknown ca" in caplog.text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_client_of_old_is_refused(server, made, tls, caplog):
    context = client_context(made.authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        tls.connect(context)
    until(lambda: not any(server._handshakes.values()))
    assert "the client supports none of the configured TLS versions" in caplog.text


@pytest.mark.parametrize(
    ("octets", "name"),
    [
        (PROTOCOL_HEADER, "plain AMQP"),
        (b"GET / HTTP/1.1\r\n\r\n", "plain HTTP"),
        (b"PROXY TCP4 1.2.3.4 1.2.3.4 1 1\r\n", "a PROXY header"),
        (b"\x80\x2e\x01\x00\x02", "the octets 80 2e 01 00 02"),
    ],
)
def test_what_is_no_tls_is_named_and_closed(server, tls, caplog, octets, name):
    client = tls.connect()
    client.sock.sendall(octets)
    assert client.sock.recv(1) == b""
    [line] = caplog.messages
    assert line.endswith(f": {name} instead of a TLS handshake")


@pytest.mark.parametrize("steps", [0, 1])
def test_a_peer_that_stalls_is_closed_in_time(server, made, caplog, steps):
    tls = Tls(server, TlsContexts(server_context(made.server), {}, verifies=False, depth=10), timeout_ms=50)
    client = tls.connect()
    if steps:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        end = client_context(made.authority, gevents=False).wrap_bio(incoming, outgoing, server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            end.do_handshake()
        client.sock.sendall(outgoing.read())
        while client.sock.recv(65_536):
            pass
        assert "timeout waiting for the TLS handshake" in caplog.text
    else:
        assert client.sock.recv(1) == b""
    assert (len(server.preambles), sum(server._handshakes.values())) == (0, 0)
    tls.close()


def test_a_peer_that_leaves_while_a_thread_works_is_forgotten(server, made, tls, monkeypatch):
    waiting = []
    monkeypatch.setattr(type(tls.line), "submit", lambda _, *job: waiting.append(job))
    context = client_context(made.authority, gevents=False)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    end = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    client = tls.connect()
    client.sock.sendall(outgoing.read())
    until(lambda: waiting)
    client.close()
    server.stop("the test", 0.1)
    [(_, job, done)] = waiting
    done(job())
    assert not server.broker.sessions


def test_new_contexts_are_for_new_connections(server, made, tls, tmp_path):
    old = tls.connect(client_context(made.authority)).open()
    other = Authority(tmp_path)
    tls.current = TlsContexts(server_context(other.server()), {}, verifies=False, depth=10)
    tls.connect(client_context(other)).open()
    old.call(gevent_declare())
    assert len(server.connections) == 2


def gevent_declare():
    from pamqp import commands

    return commands.Queue.Declare(queue="q")


@pytest.mark.parametrize(
    ("octets", "whole"),
    [
        (b"", 0),
        (b"\x16\x03\x01\x00", 0),
        (b"\x16\x03\x01\x00\x02a", 0),
        (b"\x16\x03\x01\x00\x02ab", 7),
        (b"\x16\x03\x01\x00\x02ab\x16\x03", 7),
        (b"\x16\x03\x01\xff\xffab", 7),
    ],
)
def test_whole_records_are_counted(octets, whole):
    assert whole_records(octets) == whole


@pytest.mark.parametrize(
    ("octets", "encrypted"),
    [
        (b"\x17\3\3\0\1a", True),
        (b"\x14\3\3\0\1\1\x17\3\3\0\1a", True),
        (b"\x14\3\3\0\1\1", False),
        (b"\x14\3\3\0\1\1\x16\3\3\0\1a", False),
        (b"\x16\3\3\0\1a", False),
        (b"\x17\3\3\0\1a\x17\3\3\0\2bc", True),
        (b"\x17\3\3\0\1a\x16\3\3\0\1a", False),
        (b"\x14\3\3\0\1\1\x17\3\3\0\1a\x14\3\3\0\1\1", False),
        (b"\x14\3\3\0\2\1\1\x17\3\3\0\1a", False),
    ],
)
def test_the_last_flight_of_tls_1_3_is_known_by_its_records(octets, encrypted):
    assert is_encrypted(octets) == encrypted


@pytest.mark.parametrize(
    ("version", "client_proves", "jobs"),
    [
        (ssl.TLSVersion.TLSv1_3, False, 1),
        (ssl.TLSVersion.TLSv1_3, True, 2),
        (ssl.TLSVersion.TLSv1_2, False, 2),
    ],
)
def test_the_loop_itself_ends_a_handshake_if_that_is_brief(
    server, made, tls, mutual, monkeypatch, version, client_proves, jobs
):
    submitted = []
    submit = type(tls.line).submit
    monkeypatch.setattr(type(tls.line), "submit", lambda *job: (submitted.append(job), submit(*job)))
    door = mutual if client_proves else tls
    door.connect(client_context(made.authority, made.client if client_proves else None, version=version)).open()
    assert len(submitted) == jobs


def test_a_flight_that_the_loop_cannot_use_is_refused(server, made, tls, caplog):
    client = tls.connect()
    client.sock.sendall(_hello(made))
    assert client.sock.recv(1)
    client.sock.sendall(b"\x14\3\3\0\1\1\x17\3\3\0\x20" + bytes(32))
    until(lambda: not any(server._handshakes.values()))
    [line] = caplog.messages
    assert "the TLS handshake failed: " in line


def test_no_memory_for_openssl_is_said_of_the_one_peer(server, made, tls, monkeypatch, caplog):
    def wrap(*_):
        raise MemoryError

    monkeypatch.setattr(tls.current, "wrap", wrap)
    client = tls.connect()
    client.sock.sendall(_hello(made))
    assert is_closed(client)
    assert "the TLS handshake failed: MemoryError" in caplog.text


def with_reason(reason):
    error = ssl.SSLError(1, "[SSL] (_ssl.c:1006)")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(), "ValueError"),
        (ssl.SSLZeroReturnError(6, "TLS/SSL connection has been closed (EOF) (_ssl.c:1006)"), "ended"),
        (with_reason(None), "the client broke the protocol"),
        (with_reason("INTERNAL_ERROR"), "the client's keys or records cannot be used"),
        (with_reason("TLSV1_ALERT_UNKNOWN_CA"), "the client gave up: unknown ca"),
        (with_reason("INVALID_ALERT"), "the client sent an alert that does not exist"),
        (with_reason("BAD_EXTENSION"), "bad extension"),
    ],
)
def test_errors_are_told_in_words(error, text):
    assert text in explain(error)
    assert "_ssl.c" not in explain(error)


@pytest.mark.parametrize("end", ["garbage", "leaves", "stalls", "is refused", "closes"])
def test_openssls_memory_is_free_when_the_peer_is_gone(server, made, mutual, monkeypatch, end):
    """An object of OpenSSL has 50 KiB: a thousand must not wait for Python's garbage collector."""
    made_objects = weakref.WeakSet()
    wrap = mutual.current.wrap

    def tracked(*bios):
        tls = wrap(*bios)
        made_objects.add(tls)
        return tls

    monkeypatch.setattr(mutual.current, "wrap", tracked)
    gc.collect()
    gc.disable()
    try:
        if end in {"is refused", "closes"}:
            client = mutual.connect(client_context(made.authority, made.client if end == "closes" else made.stranger))
            if end == "closes":
                client.open()
        else:
            server.broker.settings.handshake_timeout_ms = 300
            client = mutual.connect()
            client.sock.sendall(_hello(made))
            until(lambda: made_objects)
            if end == "garbage":
                client.sock.sendall(b"\x16\3\3\0\1\0")
        if end != "stalls":
            client.close()
        until(lambda: not made_objects)
        assert not any(server._handshakes.values())
    finally:
        gc.enable()


def _hello(made) -> bytes:
    outgoing = ssl.MemoryBIO()
    end = client_context(made.authority, gevents=False).wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    return outgoing.read()


def test_a_bug_in_a_thread_leaves_its_trace(server, made, tls, monkeypatch, caplog):
    def broken(_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(tls.current, "admit", broken)
    client = tls.connect(client_context(made.authority))
    assert is_closed(client)
    [record] = [each for each in caplog.records if each.getMessage() == "internal error in a TLS handshake"]
    assert str(record.exc_info[1]) == "a bug"
    assert not server.broker.sessions
