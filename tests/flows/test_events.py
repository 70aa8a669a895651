"""amq.rabbitmq.event: what is published, when, and that it costs nothing otherwise; E13."""

import pytest
from pamqp import commands

from pybroker.core.exchange.event_exchange import EXCHANGE, TURN_EVENTS_MAX, WAITING_MAX
from pybroker.core.resources.alarm import MEMORY
from pybroker.wire.properties import decode_properties
from tests.fakes import Content, World

Basic, Exchange, Queue = commands.Basic, commands.Exchange, commands.Queue


@pytest.fixture
def world() -> World:
    return World(node_name="pybroker@vm")


@pytest.fixture
def listener(world):
    """A client with a queue `told` that gets every event."""
    peer = world.connect()
    peer.declare("told")
    peer.call(Queue.Bind(queue="told", exchange=EXCHANGE, routing_key="#"))
    told(peer)
    return peer


def told(listener) -> list[Content]:
    return listener.drain("told")


def names(listener) -> list[str]:
    return [each.method.routing_key for each in told(listener)]


def test_an_event_is_an_empty_message_with_the_facts_as_headers(world, listener):
    listener.declare("q", {"x-max-length": 5}, durable=True)
    [event] = told(listener)
    assert (EXCHANGE, "queue.created", b"") == (event.method.exchange, event.method.routing_key, event.body)
    properties = event.properties
    now_ms = world.clock.timestamp_ms
    assert (2, now_ms // 1000) == (properties.delivery_mode, int(properties.timestamp.timestamp()))
    assert {
        "name": "q",
        "vhost": "/",
        "durable": True,
        "auto_delete": False,
        "arguments": ['{<<"x-max-length">>,byte,5}'],
        "owner_pid": "",
        "exclusive": False,
        "user_who_performed_action": "guest",
        "timestamp_in_ms": now_ms,
    } == event.headers


def test_whole_numbers_are_long_whatever_their_size(world, listener):
    world.broker.users.set_limits("guest", {"max-connections": 5})
    world.run()
    queue = world.vhost.queues["told"]
    content = queue.get(no_ack=True).run.content(0)
    headers = decode_properties(content[19 : 7 + int.from_bytes(content[3:7])]).headers
    assert {
        "name": "S",
        "username": "S",
        "max-connections": "l",
        "user_who_performed_action": "S",
        "timestamp_in_ms": "l",
    } == {key: headers.type_of(key) for key in headers}


def test_only_what_is_bound_to_comes(listener):
    listener.call(Queue.Unbind(queue="told", exchange=EXCHANGE, routing_key="#"))
    listener.call(Queue.Bind(queue="told", exchange=EXCHANGE, routing_key="queue.*"))
    told(listener)
    listener.declare("q")
    listener.call(Exchange.Declare(exchange="x"))
    listener.call(Queue.Delete(queue="q"))
    assert ["queue.created", "queue.deleted"] == names(listener)


def test_without_a_binding_no_event_is_made_a_message(world):
    peer = world.connect()
    assert not world.broker.events.wanted
    peer.declare("told")
    peer.call(Queue.Bind(queue="told", exchange=EXCHANGE, routing_key="#"))
    assert world.broker.events.wanted
    peer.call(Queue.Delete(queue="told"))
    assert not world.broker.events.wanted
    seq = world.broker.log.next_seq
    peer.declare("q")
    assert seq == world.broker.log.next_seq


def test_a_consumer_of_events_is_told_of_itself_once(world, listener):
    listener.consume("told", no_ack=True)
    assert ["consumer.created"] == [each.method.routing_key for each in listener.take()]


def test_nobody_may_publish_events(listener):
    code, text = listener.error(Basic.Publish(exchange=EXCHANGE, routing_key="queue.created"), *_empty())
    assert (403, f"ACCESS_REFUSED - cannot publish to internal exchange '{EXCHANGE}' in vhost '/'") == (code, text)


def _empty():
    from pamqp import body, header

    return header.ContentHeader(0, 0, Basic.Properties()), body.ContentBody(b"")


def test_the_exchange_cannot_be_deleted(listener):
    code, _ = listener.error(Exchange.Delete(exchange=EXCHANGE))
    assert 403 == code


def test_it_is_in_the_default_virtual_host_alone(world):
    world.broker.add_vhost("v")
    other = world.broker.vhosts["v"]
    assert EXCHANGE not in other.exchanges
    assert EXCHANGE in World(default_vhost="v", event_vhost="v").broker.vhosts["v"].exchanges
    world.broker.reset()
    assert EXCHANGE in world.vhost.exchanges


def test_it_may_be_in_another_one_which_is_made_then():
    world = World(event_vhost="events")
    assert EXCHANGE not in world.vhost.exchanges
    world.broker.events.ensure_vhost()
    world.broker.events.ensure_vhost()
    world.broker.users.set_permissions("guest", "events", ".*", ".*", ".*")
    peer = world.connect(vhost="events")
    peer.declare("told")
    peer.call(Queue.Bind(queue="told", exchange=EXCHANGE, routing_key="queue.#"))
    world.connect().declare("q")
    assert [("queue.created", "/")] == [(each.method.routing_key, each.headers["vhost"]) for each in told(peer)]


def test_too_many_are_dropped_and_counted(world, listener, caplog):
    events = world.broker.events
    for n in range(WAITING_MAX + 5):
        events.emit("queue.deleted", {"name": str(n), "vhost": "/"})
    assert WAITING_MAX == len(events)
    assert 1 == caplog.text.count("Events arrive faster than they can be published")
    world.broker.pump()
    assert WAITING_MAX - TURN_EVENTS_MAX == len(events)
    world.run()
    assert (0, WAITING_MAX) == (len(events), world.vhost.queues["told"].messages_ready)


def test_an_event_whose_facts_fill_a_frame_is_not_sent(world, caplog):
    world = World(frame_octets_max=4_096)
    peer = world.connect(frame_octets_max=4_096)
    peer.declare("told")
    peer.call(Queue.Bind(queue="told", exchange=EXCHANGE, routing_key="#"))
    peer.declare("q", {f"unknown-{n}": "x" * 60 for n in range(50)})
    assert ["binding.created"] == names(peer)
    assert "Event queue.created is not published: its headers exceed a frame" in caplog.text


def test_durable_queues_keep_events(world, listener):
    listener.declare("kept", durable=True)
    listener.call(Queue.Bind(queue="kept", exchange=EXCHANGE, routing_key="queue.deleted"))
    before = world.broker.log.next_seq
    listener.declare("q")
    listener.call(Queue.Delete(queue="q"))
    kept = world.vhost.queues["kept"]
    assert kept.messages_ready
    assert kept.backlog.levels[0].head().run.attributes.persistent
    assert world.broker.log.next_seq > before


def test_what_a_client_does_is_told(world, listener):
    peer = world.connect()
    peer.declare("q", auto_delete=True)
    peer.call(Exchange.Declare(exchange="x", exchange_type="fanout", auto_delete=True))
    peer.call(Queue.Bind(queue="q", exchange="x", routing_key=""))
    peer.consume("q", "tag")
    peer.call(Basic.Cancel(consumer_tag="tag"))
    peer.call(commands.Channel.Close(200, "", 0, 0))
    peer.call(commands.Connection.Close(200, "", 0, 0), channel=0)
    peer.disconnect()
    assert [
        "user.authentication.success",
        "connection.created",
        "channel.created",
        "queue.created",
        "exchange.created",
        "binding.created",
        "consumer.created",
        "consumer.deleted",
        "binding.deleted",
        "exchange.deleted",
        "queue.deleted",
        "channel.closed",
        "connection.closed",
    ] == names(listener)


def test_who_cannot_log_in_is_told_of(world, listener):
    peer = world.peer(password="wrong", peer=("10.0.0.7", 4711))
    peer.send_octets(b"AMQP\0\0\x09\x01")
    world.run()
    peer.next(0)
    peer.send(commands.Connection.StartOk({}, "PLAIN", "\0guest\0wrong"), channel=0)
    world.advance(4_000)
    failure = next(each for each in told(listener) if each.method.routing_key == "user.authentication.failure")
    headers = failure.headers
    assert ("guest", "{10,0,0,7}", 4711, "PLAIN") == tuple(
        headers[key] for key in ("name", "peer_host", "peer_port", "auth_mechanism")
    )
    assert "user 'guest' - invalid credentials" == headers["error"]
    assert "wrong" not in str(failure.headers)


def test_an_alarm_is_told_as_it_comes_and_goes(world, listener):
    """E13."""
    alarms = world.broker.alarms
    alarms.set(MEMORY, "full")
    alarms.set(MEMORY, "fuller")
    alarms.clear(MEMORY)
    alarms.clear(MEMORY)
    world.run()
    found = told(listener)
    assert ["alarm.set", "alarm.cleared"] == [each.method.routing_key for each in found]
    facts = {"source": "memory", "node": "pybroker@vm", "timestamp_in_ms": world.clock.timestamp_ms}
    assert [facts, facts] == [each.headers for each in found]
