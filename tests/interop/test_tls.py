"""pika over TLS: bodies of any size in both directions, both versions, client certificates, many at once."""

import ssl
from concurrent.futures import ThreadPoolExecutor

import pika
import pytest

from tests.certificates import Certificates, make_certificates
from tests.interop.broker_process import BrokerProcess

CONFIG = """
listeners.ssl.default = 127.0.0.1:0
ssl_options.certfile = {made.server.certificate}
ssl_options.keyfile = {made.server.key}
ssl_options.cacertfile = {made.authority.certificate}
ssl_options.verify = verify_peer
"""
SIZES = (0, 1, 100, 16_383, 16_384, 16_385, 131_072, 3_000_000)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory, made):
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"), config=CONFIG.format(made=made))
    if not broker.is_ours:
        pytest.skip("the other broker's certificates are unknown")
    yield broker
    status = broker.stop()
    assert "Traceback" not in broker.log
    assert status == (0, "")


@pytest.fixture
def connect(broker, made):
    port = int(broker.places["AMQP over TLS listener"][0].rpartition(":")[2])
    opened = []

    def connect(pair=None, version=None, **parameters) -> pika.BlockingConnection:
        context = ssl.create_default_context(cafile=made.authority.certificate)
        if pair is not None:
            context.load_cert_chain(*pair)
        if version is not None:
            context.minimum_version = context.maximum_version = version
        options = pika.SSLOptions(context, "localhost")
        opened.append(
            pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, ssl_options=options, **parameters))
        )
        return opened[-1]

    yield connect
    for connection in opened:
        if connection.is_open:
            connection.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_bodies_of_any_size_come_back_whole(connect, version):
    channel = connect(version=version).channel()
    channel.confirm_delivery()
    queue = channel.queue_declare("", exclusive=True).method.queue
    bodies = [bytes(at % 251 for at in range(size)) for size in SIZES]
    for body in bodies:
        channel.basic_publish("", queue, body, mandatory=True)
    assert [channel.basic_get(queue, auto_ack=True)[2] for _ in bodies] == bodies


def test_deliveries_and_publishes_flow_at_the_same_time(connect):
    channel = connect().channel()
    queue = channel.queue_declare("", exclusive=True).method.queue
    received = []
    channel.basic_consume(queue, lambda *delivery: received.append(delivery[3]), auto_ack=True)
    for number in range(200):
        channel.basic_publish("", queue, b"%d" % number * 20_000)
    while len(received) < 200:
        channel.connection.process_data_events(1)
    assert received == [b"%d" % number * 20_000 for number in range(200)]


def test_a_client_certificate_is_shown(connect, broker, made):
    connect(made.client, client_properties={"connection_name": "certified"})
    listed = broker.ctl("list_connections", "ssl", "ssl_protocol", "peer_cert_subject")
    assert "true\ttlsv1.3\tCN=guest" in listed


def test_a_client_that_nobody_knows_is_refused(connect, made):
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        connect(made.stranger)


def test_fifty_at_once_are_all_served(connect):
    with ThreadPoolExecutor(50) as pool:
        connections = list(pool.map(lambda _: connect(), range(50)))
    assert all(each.is_open for each in connections)
