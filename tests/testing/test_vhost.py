import threading

import pika
import pytest
from pika import exceptions


def test_each_has_a_user_that_reaches_nothing_else(server, vhost, connect):
    with server.vhost("other host/1") as other:
        assert other.uri.endswith("/other%20host%2F1")
        pika.BlockingConnection(pika.URLParameters(other.uri)).close()
        given = pika.URLParameters(vhost.uri)
        given.virtual_host = other.name
        with pytest.raises(exceptions.ProbableAccessDeniedError):
            pika.BlockingConnection(given)
    names = [row["name"] for row in server.request("list_vhosts")]
    assert vhost.name in names
    assert "other host/1" not in names
    assert "other host/1" not in [row["user"] for row in server.request("list_users")]


def test_published_waits_for_what_fits(vhost, connect):
    _, channel = connect()
    late = threading.Timer(0.1, vhost.broker.request, ["ping"])
    late.start()
    channel.exchange_declare("events", "fanout")
    channel.basic_publish("events", "a", b"1")
    channel.basic_publish("events", "b", b'{"id": 2}')
    channel.basic_publish("amq.fanout", "a", b"3")
    late.join()
    assert [each.body for each in vhost.published("events")] == [b"1", b'{"id": 2}']
    assert [each.body for each in vhost.published("events", "a", count=1)] == [b"1"]
    assert [each.body for each in vhost.published("events", body='{"id": 2}')] == [b'{"id": 2}']
    assert vhost.published("events", where=lambda each: each.routing_key == "b")[0].json() == {"id": 2}
    assert vhost.published("events", "c", count=0) == []


def test_it_waits_for_a_publisher_that_is_late(vhost, connect):
    _, channel = connect()
    late = threading.Timer(0.1, channel.basic_publish, ["amq.topic", "late", b""])
    late.start()
    assert vhost.published("amq.topic", "late", count=1, timeout_s=60)
    late.join()


def test_a_failure_shows_what_was_published_instead(vhost, connect):
    _, channel = connect()
    channel.basic_publish("amq.topic", "order.updated", b"7")
    with pytest.raises(AssertionError) as failure:
        vhost.published("amq.topic", "order.created", body=b"7", where=bool, timeout_s=0.02)
    assert str(failure.value) == (
        "at least 1 message to exchange 'amq.topic', routing key 'order.created', body b'7', for which `where` is "
        "true: none published within 0.02 s.\n"
        "Published in this virtual host:\n"
        "  exchange 'amq.topic', key 'order.updated': '7' -> no queue\n"
        "Queues:\n"
        "  none"
    )


def test_more_than_wanted_fail_at_once(vhost, connect):
    _, channel = connect()
    channel.basic_publish("amq.topic", "a", b"")
    channel.basic_publish("amq.topic", "a", b"")
    with pytest.raises(AssertionError, match=r"^1 message to exchange 'amq.topic': 2 published\.\n"):
        vhost.published("amq.topic", count=1)
    with pytest.raises(AssertionError, match=r"^0 messages to exchange 'amq.topic': 2 published\.\n"):
        vhost.published("amq.topic", count=0)


def test_refused_logins(vhost, connect):
    connection, _ = connect()
    with vhost.refuse_logins():
        with pytest.raises(exceptions.ProbableAuthenticationError):
            connect()
        assert connection.is_open
    connect()


def test_nacked_publishes(vhost, connect):
    _, channel = connect()
    for name, arguments in (("a", {}), ("b", {"x-overflow": "drop-head", "x-max-length": 9})):
        channel.queue_declare(name, arguments=arguments)
        channel.basic_publish("", name, b"before")
    with vhost.nack_publishes("a"):
        with pytest.raises(exceptions.NackError):
            channel.basic_publish("", "a", b"refused")
        channel.basic_publish("", "b", b"taken")
    with vhost.nack_publishes():
        for name in ("a", "b"):
            with pytest.raises(exceptions.NackError):
                channel.basic_publish("", name, b"refused")
    channel.basic_publish("", "a", b"after")
    assert vhost.queue("a").bodies() == [b"before", b"after"]
    assert vhost.queue("b").bodies() == [b"before", b"taken"]


def test_blocked_publishers(vhost, connect):
    connection, _ = connect()
    told = []
    connection.add_on_connection_blocked_callback(lambda *_: told.append("blocked"))
    connection.add_on_connection_unblocked_callback(lambda *_: told.append("unblocked"))
    with vhost.block_publishers():
        other = connection.channel()
        other.basic_publish("amq.fanout", "", b"waits")
        while told != ["blocked"]:
            connection.process_data_events(0.05)
        assert vhost.published("amq.fanout", count=0) == []
    while told != ["blocked", "unblocked"]:
        connection.process_data_events(0.05)
    vhost.published("amq.fanout", count=1)


def test_dropped_connections_are_those_of_the_virtual_host(server, vhost, connect):
    _, channel = connect()
    with server.vhost("neighbour") as other:
        neighbour = pika.BlockingConnection(pika.URLParameters(other.uri))
        assert vhost.drop_connections() == 1
        with pytest.raises(exceptions.StreamLostError):
            channel.queue_declare("q")
        neighbour.process_data_events(0)
        assert neighbour.is_open
        neighbour.close()
    assert vhost.drop_connections() == 0


def test_connections_are_closed_in_order(vhost, connect):
    _, channel = connect()
    vhost.close_connections("maintenance")
    with pytest.raises(exceptions.ConnectionClosedByBroker, match="maintenance"):
        channel.queue_declare("q")


def test_a_kill_keeps_what_is_on_disk_and_the_record(vhost, connect):
    _, channel = connect()
    channel.queue_declare("kept", durable=True)
    channel.basic_publish("", "kept", b"1", pika.BasicProperties(delivery_mode=2))
    with vhost.kill():
        assert not vhost.broker.running
        with pytest.raises(exceptions.AMQPConnectionError):
            connect()
        assert [each.body for each in vhost.messages] == [b"1"]
    assert vhost.queue("kept").bodies() == [b"1"]
    connection, channel = connect()
    channel.basic_publish("", "kept", b"2", pika.BasicProperties(delivery_mode=2))
    assert [each.body for each in vhost.published("", "kept", count=2)] == [b"1", b"2"]
    connection.close()  # idle, it would not answer the goodbye, which a stop waits for
    vhost.shut_down()
    vhost.end_faults()
    vhost.restart()
    assert vhost.queue("kept").bodies() == [b"1", b"2"]


def test_faults_end_with_it(server):
    with server.vhost("faulty") as vhost:
        vhost.latency(0.01)
        vhost.refuse_connections()
        vhost.block_publishers()
        vhost.refuse_logins()
        vhost.nack_publishes()
        vhost.kill()
    with server.vhost("healthy") as vhost:
        pika.BlockingConnection(pika.URLParameters(vhost.uri)).close()
    assert server.request("alarms")["alarms"] == []
