"""A session's own state: what others ask of it, and its end from our side."""

from pybroker.wire.stream import commands
from tests.stream_peer import StreamPeer


def test_it_is_a_connection_without_channels(world, peer):
    session = peer.session
    assert ("stream", {}, 0) == (session.protocol, session.channels, session.channel_max)
    assert "test" == session.log_fields()["client_name"]
    assert [session] == list(world.vhost.sessions)
    peer.subscribe()
    assert 1 == session.consumers
    (consumer,) = world.vhost.queues["s"].consumers
    assert (session.pid, "stream.subid-1", True) == (consumer.channel.pid, consumer.tag, consumer.no_ack)


def test_an_alarm_blocks_publishers_alone(world, peer):
    reader = StreamPeer(world)
    reader.subscribe()
    peer.declare()
    peer.publish(b"a")
    world.broker.alarms.set("disk", "test")
    peer.publish(b"b", first_id=2)
    reader.send(commands.Heartbeat())
    assert ("blocked", "blocking") == (peer.session.shown_state, reader.session.shown_state)
    assert reader.session.readable


def test_a_bug_costs_the_connection(world, peer, caplog):
    peer.session.break_off()
    world.run()
    assert peer.session.finished


def test_before_open_it_is_just_closed(world):
    peer = StreamPeer(world, is_open=False)
    peer.session.close(320, "maintenance")
    world.run()
    assert ([], True) == (peer.inbox, peer.session.finished)


def test_closing_twice_says_it_once(world, peer):
    for _ in range(2):
        peer.session.close(541, "maintenance")
    world.run()
    assert 1 == len(peer.take(22))


def test_events_and_attempts_have_the_protocols_name(world, peer):
    assert {"stream": 1} == {name: each.succeeded for name, each in world.broker.logins.attempts.items()}
