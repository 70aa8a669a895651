"""One peer's outbox, its names, and its ends."""

import logging

import pytest
from fakes import Basic, Channel, Connection, FakePeer, World

from pybroker.amqp.session import CLOSE_TIMEOUT_MS, OUTBOX_OCTETS_MAX, REPLY_OCTETS_MAX


def stuck(peer: FakePeer) -> None:
    """Have the kernel accept nothing more for this peer: what is taken stays unsent."""
    world = peer.world
    world.broker.pump()
    world.turn.sessions.clear()
    for session in world.peers:
        session.dirty = False
        octets = b"".join(session.take_output())
        if session is peer.session:
            peer.kept += octets
        session.output_sent(session.unsent_octets if session is peer.session else 0)


def test_a_session_is_called_after_both_ends():
    world = World(node_name="pybroker@host")
    session = world.peer().session
    assert session.name == "127.0.0.1:40000 -> 127.0.0.1:5672"
    assert session.pid == f"<pybroker@host.{world.broker.epoch}.1.0>"
    assert FakePeer(world, peer=("unix", 0)).session.name.startswith("unix -> ")


def test_sessions_are_numbered_and_forgotten_when_they_are_gone(world):
    first, second = world.connect(), world.connect()
    assert sorted(world.broker.sessions) == [first.session.id, second.session.id]
    first.disconnect()
    first.disconnect()
    assert list(world.broker.sessions) == [second.session.id]


def test_deliveries_stop_at_a_full_outbox_and_go_on_when_it_empties(world, peer):
    reader = world.connect()
    reader.kept = b""
    peer.declare("q")
    reader.consume("q", no_ack=True)
    for _ in range(50):
        world.broker.pump()
        peer.send_octets(b"".join(frame_octets(peer, bytes(20_000))))
        stuck(reader)
    waiting = reader.session.send_pend
    assert OUTBOX_OCTETS_MAX < waiting < OUTBOX_OCTETS_MAX + 50_000
    assert world.vhost.queues["q"].messages_ready > 0
    reader.read(reader.kept)
    reader.session.output_sent(0)
    world.run()
    assert len(reader.take()) == 50


def test_a_full_outbox_of_one_does_not_hold_up_another(world, peer):
    slow, fast = world.connect(), world.connect()
    slow.kept = b""
    peer.declare("q")
    slow.consume("q", no_ack=True)
    fast.consume("q", no_ack=True)
    slow.session.outbox_full = True
    for i in range(10):
        peer.publish("", "q", b"%d" % i)
    assert (len(slow.take()), len(fast.take())) == (0, 10)


def test_a_peer_that_does_not_read_its_replies_is_not_read(world, peer):
    peer.kept = b""
    peer.declare("q")
    peer.publish("", "q", bytes(100_000))
    for _ in range(20):
        peer.session.receive(b"".join(frame_octets_of(Basic.Get(queue="q", no_ack=False), Basic.Recover(requeue=True))))
        stuck(peer)
        if not peer.session.readable:
            break
    assert not peer.session.readable
    assert peer.session.send_pend > REPLY_OCTETS_MAX
    peer.read(peer.kept)
    peer.session.output_sent(0)
    assert peer.session.readable


def frame_octets_of(*methods) -> list[bytes]:
    from pamqp import frame

    return [frame.marshal(method, 1) for method in methods]


def frame_octets(peer: FakePeer, content: bytes) -> list[bytes]:
    return frame_octets_of(*peer.publish_frames("", "q", content))


def test_a_hard_error_closes_the_connection_and_gives_everything_back(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"m")
    peer.get("q", no_ack=False)
    peer.declare("mine", exclusive=True)
    assert peer.error(Channel.Open())[0] == 504
    assert world.vhost.queues["q"].messages_ready == 1
    assert "mine" not in world.vhost.queues


def test_after_our_close_only_its_answer_counts(world, peer):
    peer.send(Channel.Open())
    close = peer.next(1)
    assert isinstance(close, Connection.Close)
    peer.send(Basic.Publish(0, "", "q", True), channel=1)
    peer.send(Connection.Open("/"), channel=0)
    assert peer.take(0) == []
    peer.send(Connection.CloseOk(), channel=0)
    assert peer.session.finished


def test_closes_that_cross_are_both_answered(peer):
    peer.session.close(320, "going away")
    peer.send(Connection.Close(200, "bye", 0, 0), channel=0)
    ours, answer = peer.take(0)
    assert (type(ours), type(answer)) == (Connection.Close, Connection.CloseOk)
    peer.send(Connection.CloseOk(), channel=0)
    assert peer.session.finished


def test_a_peer_that_does_not_answer_our_close_is_cut_off(world, peer):
    peer.session.close(320, "going away")
    world.advance(CLOSE_TIMEOUT_MS - 1)
    assert not peer.session.finished
    world.advance(1)
    assert peer.session.finished


@pytest.mark.parametrize("state", ["header", "closed"])
def test_closing_who_cannot_be_told_just_ends_it(world, state):
    peer = world.peer()
    if state == "closed":
        peer.disconnect()
    peer.session.close(320, "going away")
    assert peer.session.finished


def test_errors_are_logged_with_the_connections_name(peer, caplog):
    with caplog.at_level(logging.ERROR, "pybroker.connection"):
        peer.error(Basic.Get(queue="nosuch"))
        peer.error(Channel.Open())
    soft, hard = [record.getMessage() for record in caplog.records]
    assert "channel 1: NOT_FOUND - no queue 'nosuch' in vhost '/'" in soft
    assert hard.endswith("CHANNEL_ERROR - second 'channel.open' seen")
    assert all(peer.session.name in line for line in (soft, hard))


def test_what_was_sent_and_received_is_counted(world, peer):
    session = peer.session
    before = session.recv_octets, session.send_octets
    peer.send_octets(b"\x08\x00\x00\x00\x00\x00\x00\xce")
    session.send(b"\x08\x00\x00\x00\x00\x00\x00\xce")
    world.run()
    assert (session.recv_octets - before[0], session.send_octets - before[1], session.send_pend) == (8, 8, 0)
