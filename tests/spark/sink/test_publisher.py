import time

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pybroker.client import Properties, parse_uri
from pybroker.client.errors import CallTimeout, MessageReturned, NotFound, PublishNacked
from pybroker.spark.options import SinkOptions
from pybroker.spark.sink.publisher import ConfirmTimeout, Publisher, PublisherBlocked
from pybroker.spark.sink.rows import Row
from pybroker.wire.properties import encode_properties


@pytest.fixture
def publisher(uri):
    made = []

    def make(**options):
        made.append(Publisher(SinkOptions(client=parse_uri(uri + "?heartbeat=0"), **options)))
        return made[-1]

    yield make
    for one in made:
        one.__exit__(None, None, None)


def row(exchange, key, body=b"x"):
    return Row(exchange, key, encode_properties(Properties(delivery_mode=2)), body)


def publish_and_settle(sink, row):
    for _ in range(10):
        sink.publish([row])
        sink.settle()


def test_all_are_confirmed_when_settled_whatever_the_window(publisher, channel, queue):
    sink = publisher(max_in_flight=7)
    for _ in range(50):
        sink.publish([row("", queue)])
    sink.settle()
    assert channel.queue_declare(queue, durable=True).message_count == 50


def test_a_return_is_known_when_settled_and_names_the_route(publisher, queue, name):
    sink = publisher()
    sink.publish([row("", queue)])
    sink.publish([row("amq.topic", f"{name}.lost")])
    with pytest.raises(MessageReturned) as caught:
        sink.settle()
    assert f"a message to exchange 'amq.topic' with routing key '{name}.lost' was returned: 312 NO_ROUTE" in str(
        caught.value
    )


def test_without_mandatory_it_vanishes(publisher, name):
    sink = publisher(mandatory=False)
    sink.publish([row("amq.topic", name)])
    sink.settle()


def test_an_exchange_that_is_not_there_is_the_brokers_404(publisher, name):
    sink = publisher()
    with pytest.raises(NotFound, match=f"no exchange '{name}' in vhost '/'"):
        publish_and_settle(sink, row(name, "k"))


def test_a_full_queue_refuses(publisher, channel, name):
    channel.queue_declare(name, arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    sink = publisher()
    for _ in range(5):
        sink.publish([row("", name)])
    with pytest.raises(PublishNacked, match="the broker rejected messages"):
        sink.settle()
    channel.queue_delete(name)


def test_a_broker_that_does_not_answer_is_waited_for_so_long(publisher, queue, monkeypatch):
    sink = publisher(confirm_timeout_s=0.05)
    sink.publish([row("", queue)])

    def silent(self, timeout_s):
        time.sleep(0.02)
        raise CallTimeout("1 publishes are not answered")

    monkeypatch.setattr("pybroker.client.channel.publishing.Publishing.wait_for_confirms", silent)
    with pytest.raises(
        ConfirmTimeout, match=r"1 messages were not confirmed within 0.05 s \(publisherConfirmTimeoutMs\)"
    ):
        sink.settle()


def test_a_blocked_broker_is_waited_for_longer_and_the_alarm_is_named(broker, publisher, queue):
    if not broker.is_ours:
        pytest.skip("no pybrokerctl for a broker that was given")
    sink = publisher(confirm_timeout_s=60.0, blocked_max_s=1.0)
    broker.ctl("set_vm_memory_high_watermark", "0")
    try:
        with pytest.raises(PublisherBlocked, match=r"blocked publishers for .* s \(maxBlockedMs\), .*low on memory"):
            publish_and_settle(sink, row("", queue))
    finally:
        broker.ctl("set_vm_memory_high_watermark", "0.4")
    other = publisher()
    other.publish([row("", queue)])
    other.settle()
