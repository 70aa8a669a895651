"""TLS: certificates are checked, and both directions work at the same time."""

import shutil
import ssl
import subprocess
import threading

import pytest
from client.scripted import WAIT_S, ScriptedBroker, in_thread
from pamqp import commands

from pybroker.client import Tls
from pybroker.client.tls import make_context

pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the paths of a certificate for localhost and its key."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    return str(certificate), str(key)


@pytest.fixture
def broker(files):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    with ScriptedBroker(context) as broker:
        yield broker


def test_amqps_with_a_trusted_certificate(broker, files):
    connection, peer = broker.connect(tls=Tls(ca_file=files[0], server_name="localhost"))
    channel = broker.open_channel(connection, peer)
    calling = in_thread(channel.queue_declare, "q")
    assert peer.expect(commands.Queue.Declare).queue == "q"
    peer.say(commands.Queue.DeclareOk, queue="q")
    assert calling.result(WAIT_S).queue == "q"


def test_a_certificate_of_nobody_or_of_somebody_else_is_refused(broker, files):
    with pytest.raises(ssl.SSLCertVerificationError, match="self-signed"):
        broker.connect(tls=Tls(server_name="localhost"))
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
        broker.connect(tls=Tls(ca_file=files[0], server_name="elsewhere"))


def test_a_context_of_ones_own_or_no_check_at_all(broker, files):
    broker.connect(tls=Tls(verify=False))
    context = make_context(Tls(ca_file=files[0], cert_file=files[0], key_file=files[1]))
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


def test_much_goes_both_ways_at_once(broker, files):
    connection, peer = broker.connect(tls=Tls(ca_file=files[0], server_name="localhost"))
    channel = broker.open_channel(connection, peer)
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


def test_the_end_of_the_stream_is_an_end(broker, files):
    connection, peer = broker.connect(tls=Tls(ca_file=files[0], server_name="localhost"), recovery=False)
    closed = threading.Event()
    connection.on_close(lambda error: closed.set())
    peer.close()
    assert closed.wait(WAIT_S)
