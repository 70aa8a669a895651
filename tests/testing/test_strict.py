import pika
import pytest

from pybroker.testing import strict
from pybroker.testing.strict import ALL, CHANNELS_MAX, DEFAULT, parse_checks


def test_settings():
    assert parse_checks(True) == parse_checks("true") == DEFAULT
    assert parse_checks(False) == parse_checks("") == parse_checks("False") == frozenset()
    assert parse_checks("all") == ALL
    assert parse_checks("left, unroutable") == parse_checks(["left", "unroutable"]) == {"left", "unroutable"}
    with pytest.raises(ValueError, match="has no check lift; it has channels, connections, left"):
        parse_checks("lift")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(strict, "GRACE_S", 0.0)


def test_all_is_well(vhost, connect):
    connection, channel = connect()
    channel.queue_declare("q")
    channel.basic_publish("", "q", b"")
    channel.basic_ack(channel.basic_get("q")[0].delivery_tag)
    assert strict.after_call(vhost, ALL) == []
    connection.close()
    assert strict.after_teardown(vhost, ALL) == []


def test_unroutable(vhost, connect):
    _, channel = connect()
    channel.queue_declare("q")
    channel.queue_bind("q", "amq.topic", "order.*")
    channel.basic_publish("amq.topic", "order", b"1")
    channel.basic_publish("amq.fanout", "", b"2")
    channel.basic_publish("", "Q", b"3")
    (found,) = strict.after_call(vhost, {"unroutable"})
    assert found.splitlines() == [
        "3 messages reached no queue:",
        "  exchange 'amq.topic', key 'order': '1' -> no queue",
        "  exchange 'amq.fanout', key '': '2' -> no queue",
        "  exchange '', key 'Q': '3' -> no queue",
        (
            "Exchange 'amq.topic' has the bindings 'order.*' -> q. Exchange 'amq.fanout' has no bindings. The default "
            "exchange routes to the queue that the routing key names: is it declared? Look at routing key and "
            "bindings, and at what is declared before the first publish."
        ),
    ]
    assert strict.after_call(vhost, ALL) == []


def test_unroutable_without_confirms(vhost, connect):
    connection, _ = connect()
    connection.channel().basic_publish("amq.fanout", "", b"late")
    connection.close()
    (found,) = strict.after_teardown(vhost, DEFAULT)
    assert found.startswith("1 message reached no queue:")


def test_a_check_that_is_allowed(vhost, connect):
    _, channel = connect()
    vhost.allow("unroutable")
    channel.basic_publish("amq.fanout", "", b"lost")
    assert strict.after_call(vhost, ALL) == []


def test_a_check_that_does_not_exist_cannot_be_allowed(vhost):
    with pytest.raises(ValueError, match="has no check unrouteable"):
        vhost.allow("unrouteable")


def test_a_delayed_message_is_not_unroutable(vhost, connect):
    _, channel = connect()
    channel.exchange_declare("later", "x-delayed-message", arguments={"x-delayed-type": "fanout"})
    channel.queue_declare("q")
    channel.queue_bind("q", "later")
    channel.basic_publish("later", "", b"", pika.BasicProperties(headers={"x-delay": 100_000}))
    assert strict.after_call(vhost, {"unroutable"}) == []


def test_unacknowledged(vhost, connect):
    connection, channel = connect(client_properties={"connection_name": "worker"})
    channel.queue_declare("q")
    channel.basic_publish("", "q", b"")
    channel.basic_get("q")
    (found,) = strict.after_call(vhost, DEFAULT)
    assert found.startswith("1 message of queue 'q' delivered, but not acknowledged when the test had ended.")
    assert " (1). Look for a way through the consumer " in found
    channel.queue_declare("other")
    channel.basic_publish("", "other", b"")
    assert len(strict.after_call(vhost, DEFAULT)) == 1
    channel.basic_get("other")
    connection.close()
    # Of queue q it has told already.
    (found,) = strict.after_teardown(vhost, DEFAULT)
    assert found.startswith("1 message of queue 'other' delivered, and back in the queue without an acknowledgement.")


def test_left(vhost, connect):
    _, channel = connect()
    channel.queue_declare("q")
    channel.basic_publish("", "q", b"")
    (found,) = strict.after_call(vhost, ALL)
    assert found.startswith("1 message in queue 'q' left when the test had ended. Look for the consumer")
    assert strict.after_call(vhost, DEFAULT) == []


def test_channels_and_connections(vhost, connect):
    connection, _ = connect(client_properties={"connection_name": "worker"})
    for _ in range(CHANNELS_MAX - 1):
        connection.channel()
    assert strict.after_call(vhost, DEFAULT) == []
    connection.channel()
    (found,) = strict.after_call(vhost, DEFAULT)
    assert found.startswith(f"{CHANNELS_MAX + 1} channels are open on the connection 127.0.0.1:")
    (found,) = strict.after_teardown(vhost, DEFAULT)
    assert found.startswith("1 connection still open after the test: Pika Python Client Library")
    assert f"named 'worker', {CHANNELS_MAX + 1} channels. Close what" in found
