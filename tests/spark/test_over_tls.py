"""The connector over amqps, with an authority of its own; the user is the one that the certificate names."""

import pytest

from pybroker.client import Connection
from pybroker.spark.credentials import client_options
from tests.certificates import Authority
from tests.daemon.tls.test_front import port_of
from tests.interop.broker_process import BrokerProcess

pytestmark = pytest.mark.spark

USER = "machine"


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def tls_broker(authority, tmp_path_factory):
    pair = authority.server()
    config = [
        "listeners.ssl.default = 127.0.0.1:0",
        f"ssl_options.certfile = {pair.certificate}",
        f"ssl_options.keyfile = {pair.key}",
        f"ssl_options.cacertfile = {authority.certificate}",
        "ssl_options.verify = verify_peer",
        "ssl_options.fail_if_no_peer_cert = true",
        "auth_mechanisms.1 = EXTERNAL",
        "ssl_cert_login_from = common_name",
        f"default_user = {USER}",
    ]
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"), config="\n".join(config))
    yield broker
    assert broker.stop() == (0, "")


def test_rows_are_written_and_read_with_a_client_certificate(spark, authority, tls_broker, tmp_path):
    pair = authority.client(USER, USER, password="s3cret")
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    options = {
        "host": "127.0.0.1",
        "port": str(port_of(tls_broker)),
        "authMechanism": "EXTERNAL",
        "tls.caFile": str(authority.certificate),
        "tls.certFile": str(pair.certificate),
        "tls.keyFile": str(pair.key),
        "tls.keyPasswordFile": str(secret),
    }
    with Connection(client_options(options, "test")) as connection:
        connection.channel().queue_declare("q", durable=True)
        frame = spark.sql("SELECT concat('v', id) AS value FROM range(0, 3, 1, 1)")
        frame.write.format("pybroker").options(exchange="", routingKey="q", **options).mode("append").save()
        rows = spark.read.format("pybroker").options(queue="q", **options).load().collect()
        assert [bytes(row.value) for row in rows] == [b"v0", b"v1", b"v2"]
    assert f"user '{USER}' authenticated and granted access" in tls_broker.log
