"""TLS: certificates are checked, on both sides if the broker asks, and both directions work at the same time."""

import queue as queues
import shutil
import ssl
import threading
from dataclasses import replace

import pytest
from pamqp import commands

from pybroker.client import Address, Connection, Options, Properties, Tls
from pybroker.client.errors import AuthenticationFailed, ConnectFailed
from pybroker.client.transport.tls import make_context
from tests import certificates
from tests.client.scripted import WAIT_S, ScriptedBroker, in_thread
from tests.client.tls_front import Authority, TlsFront

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "ours", "authority")


@pytest.fixture(scope="module")
def somebody(tmp_path_factory):
    """Return an authority that nobody trusts."""
    return Authority(tmp_path_factory.mktemp("tls") / "theirs", "somebody")


@pytest.fixture(scope="module")
def trust(authority):
    return Tls(ca_file=authority.certificate, server_name="localhost")


@pytest.fixture(scope="module")
def identity(authority, trust):
    """Return how a client speaks TLS that has a certificate of its own."""
    certificate, key = authority.issue("worker")
    return replace(trust, cert_file=certificate, key_file=key)


@pytest.fixture
def scripted_tls(authority):
    with ScriptedBroker(authority.context("localhost")) as scripted:
        yield scripted


@pytest.fixture
def front(authority, broker):
    """Return TLS in front of the real broker; it asks clients for a certificate."""
    with TlsFront(authority.context("localhost", asks=True), broker.address) as front:
        yield front


def test_amqps_with_a_trusted_certificate(scripted_tls, trust):
    connection, peer = scripted_tls.connect(tls=trust)
    channel = scripted_tls.open_channel(connection, peer)
    calling = in_thread(channel.queue_declare, "q")
    assert peer.expect(commands.Queue.Declare).queue == "q"
    peer.say(commands.Queue.DeclareOk, queue="q")
    assert calling.result(WAIT_S).queue == "q"


def test_a_certificate_of_nobody_or_of_somebody_else_is_refused(scripted_tls, trust):
    with pytest.raises(ConnectFailed, match=r"not trusted, .*: set ca_file") as caught:
        scripted_tls.connect(tls=Tls(server_name="localhost"))
    assert type(caught.value.reason) is ssl.SSLCertVerificationError
    with pytest.raises(ConnectFailed, match="not valid for 'elsewhere': connect to a name in the certificate"):
        scripted_tls.connect(tls=replace(trust, server_name="elsewhere"))


def test_a_context_of_ones_own_or_no_check_at_all(scripted_tls, identity):
    scripted_tls.connect(tls=Tls(verify=False))
    context = make_context(identity)
    options = scripted_tls.options(addresses=(Address("localhost", scripted_tls.address.port),))
    scripted_tls.connections.append(Connection(options, ssl_context=context))
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


def test_much_goes_both_ways_at_once(scripted_tls, trust):
    connection, peer = scripted_tls.connect(tls=trust)
    channel = scripted_tls.open_channel(connection, peer)
    got = threading.Event()
    returned = []

    def on_return(message):
        returned.append(message.body)
        if len(returned) == 100:
            got.set()

    channel.on_return(on_return)
    body = bytes(range(256)) * 400
    publishing = in_thread(lambda: [channel.basic_publish("", "q", body, mandatory=True) for _ in range(100)])
    for _ in range(100):
        method = peer.expect(commands.Basic.Publish)
        octets = [peer.read() for _ in range(2)]
        peer.say(commands.Basic.Return, reply_code=312, reply_text="NO_ROUTE", routing_key=method.routing_key)
        for kind, number, payload in octets:
            peer.send_frame(kind, number, payload)
    publishing.result(WAIT_S)
    assert got.wait(WAIT_S)
    assert set(returned) == {body}


def test_the_end_of_the_stream_is_an_end(scripted_tls, trust):
    connection, peer = scripted_tls.connect(tls=trust, recovery=False)
    closed = threading.Event()
    connection.on_close(lambda error: closed.set())
    peer.close()
    assert closed.wait(WAIT_S)


def test_a_file_that_cannot_be_used_is_named(tmp_path, authority, identity):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        make_context(Tls(ca_file=str(tmp_path / "nowhere")))
    with pytest.raises(OSError, match=r"unusable certificate or key .*worker.key"):
        make_context(Tls(ca_file=identity.key_file))
    with pytest.raises(OSError, match=r"unusable certificate or key .*authority.pem, .*worker.key"):
        make_context(replace(identity, cert_file=authority.certificate))


def test_a_key_with_a_password_needs_it_and_nobody_is_asked(tmp_path):
    pair = certificates.Authority(tmp_path).client(password="s3cret")
    tls = Tls(cert_file=str(pair.certificate), key_file=str(pair.key), key_password="s3cret")
    make_context(tls)
    assert "s3cret" not in repr(tls)
    for password, text in (("", "certificate or key"), ("wrong", "certificate or key"), ("x" * 2_000, "password")):
        with pytest.raises(OSError, match=rf"unusable .*{text}.*client.pem, .*client.key"):
            make_context(replace(tls, key_password=password))


def test_tls_and_plain_text_do_not_meet_in_silence(broker, front, trust):
    with pytest.raises(ConnectFailed, match="this port does not use TLS"):
        Connection(Options(addresses=(Address(broker.host, broker.port),), tls=trust))
    with pytest.raises(ConnectFailed, match=r"this port requires TLS|try TLS \(amqps://\)"):
        Connection(Options(addresses=(front.address,)))


def test_a_client_shows_its_certificate_and_logs_in_by_it(authority, identity):
    with ScriptedBroker(authority.context("localhost", asks=True)) as scripted:
        _, peer = scripted.connect(tls=identity, auth_mechanism="EXTERNAL")
        assert peer.socket.getpeercert()["subject"] == ((("commonName", "worker"),),)
        assert (peer.start_ok.mechanism, peer.start_ok.response) == ("EXTERNAL", "")


def test_a_broker_refuses_a_client_without_a_certificate_it_trusts(authority, somebody, trust):
    certificate, key = somebody.issue("stranger")
    with ScriptedBroker(authority.context("localhost", asks=True)) as scripted:
        with pytest.raises(ConnectFailed, match="requires a client certificate: set cert_file and key_file"):
            scripted.connect(tls=trust)
        with pytest.raises(ConnectFailed, match="refuses the certificate in cert_file"):
            scripted.connect(tls=replace(trust, cert_file=certificate, key_file=key))


def test_mutual_tls_to_a_real_broker(front, identity, connect):
    connection = connect(addresses=(front.address,), tls=identity)
    publisher, consumer = connection.channel(), connection.channel()
    queue = publisher.queue_declare(exclusive=True).queue
    publisher.confirm_select()
    got = queues.Queue()
    consumer.basic_qos(10)
    consumer.basic_consume(queue, lambda message: (got.put(message.body), message.ack()))
    bodies = [bytes([number]) * 300_000 for number in range(40)]
    for body in bodies:
        publisher.basic_publish("", queue, body, Properties(delivery_mode=2))
    publisher.wait_for_confirms()
    assert [got.get(timeout=WAIT_S) for _ in bodies] == bodies


def test_g4_a_recovery_shows_the_certificate_again(front, identity, connect):
    connection = connect(addresses=(front.address,), tls=identity)
    recovered, got = threading.Event(), queues.Queue()
    connection.on_recovered(recovered.set)
    channel = connection.channel()
    queue = channel.queue_declare(exclusive=True).queue
    channel.basic_consume("", got.put, no_ack=True)
    front.cut()
    assert recovered.wait(WAIT_S)
    assert channel._last_queue != queue
    channel.basic_publish("", channel._last_queue, b"again")
    assert got.get(timeout=WAIT_S).body == b"again"


def test_a_mechanism_that_needs_more_than_a_certificate_is_told(front, identity):
    """A broker that does not map certificates to users does not offer EXTERNAL."""
    with pytest.raises(AuthenticationFailed, match=r"the broker offers .*PLAIN.*, not EXTERNAL"):
        Connection(Options(addresses=(front.address,), tls=identity, auth_mechanism="EXTERNAL"))
