"""Heartbeats both ways, and the deadlines of a session: its handshake, its close, its last output."""

import pytest

from pybroker.core.channel.throttle import PEER
from tests.fakes import Basic, Connection, World

# -- heartbeats -------------------------------------------------------------------------------------------------------


def ticks(world: World, seconds: int) -> None:
    for _ in range(seconds):
        world.advance(1_000)


@pytest.mark.parametrize("heartbeat_s", [1, 2, 3, 4, 5, 10, 60])
def test_ours_come_at_least_twice_in_each_interval(world, heartbeat_s):
    peer = world.connect(heartbeat_s=heartbeat_s)
    for _ in range(4):
        before = peer.heartbeats
        for _ in range(heartbeat_s):
            world.clock.advance(500)
            world.broker.beat()
            world.run()
            world.advance(500)
            peer.send_octets(b"\x08\0\0\0\0\0\0\xce")
        assert peer.heartbeats - before >= 2
    assert "running" == peer.session.state


def test_a_session_that_has_ended_beats_no_longer(world):
    peer = world.connect(heartbeat_s=1)
    assert {peer.session: None} == world.broker.beating
    peer.disconnect()
    assert {} == world.broker.beating


@pytest.mark.parametrize(("heartbeat_s", "cut"), [(60, True), (1, True), (0, False)])
def test_a_peer_that_sends_but_never_reads_is_cut_off_after_thirty_seconds(world, heartbeat_s, cut):
    # RabbitMQ 3.10.8 closed such a peer after 30 to 40 seconds, whatever its interval: ranch_tcp.erl has send_timeout.
    peer = world.connect(heartbeat_s=heartbeat_s)
    session = peer.session
    session.send(b"what the kernel does not take")
    session.pop_output()
    session.output_sent(10)
    for seconds in range(1, 40):
        world.clock.advance(1_000)
        session.receive(b"\x08\0\0\0\0\0\0\xce")
        session.tick()
        assert session.close_now == (cut and seconds >= 30)
    assert not session.outbox  # no heartbeats gather behind what it does not read


def test_other_output_is_as_good_as_a_heartbeat(world):
    peer = world.connect(heartbeat_s=10)
    for _ in range(30):
        world.advance(1_000)
        peer.call(Basic.Qos())
    assert 0 == peer.heartbeats


def test_a_silent_peer_is_cut_off_after_two_intervals(world):
    peer = world.connect(heartbeat_s=5)
    ticks(world, 10)
    assert not peer.session.finished
    ticks(world, 1)
    assert (True, True, "missed heartbeats from client, timeout: 5s") == (
        peer.session.finished,
        peer.session.close_now,
        peer.session.reason,
    )


def test_any_octet_counts_as_a_sign_of_life(world):
    peer = world.connect(heartbeat_s=5)
    for octet in b"\x01\0\x01\0\0\0\x04":
        ticks(world, 9)
        peer.send_octets(bytes([octet]))
    assert not peer.session.finished


def test_without_heartbeats_silence_is_golden(world):
    peer = world.connect(heartbeat_s=0)
    world.advance(10_000_000)
    assert (0, False) == (peer.heartbeats, peer.session.finished)


def test_e3_a_peer_that_we_do_not_read_is_not_taken_for_silent(world):
    peer = world.connect(heartbeat_s=5)
    peer.session.stop_reading(PEER)
    for _ in range(100):
        world.clock.advance(1_000)
        peer.session.tick()
    assert not peer.session.finished
    assert peer.session.outbox  # ours go on
    peer.session.pop_output()
    peer.session.output_sent(0)
    assert peer.session.readable
    peer.session.tick()
    assert not peer.session.finished
    ticks(world, 11)
    assert peer.session.finished


# -- deadlines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("octets", [b"", b"AMQP", b"AMQP\0\0\x09\x01"])
def test_a_handshake_has_its_time(world, octets):
    peer = world.peer()
    if octets:
        peer.send_octets(octets)
    world.advance(9_999)
    assert not peer.session.finished
    world.advance(1)
    assert (True, True) == (peer.session.finished, peer.session.close_now)
    assert "handshake_timeout" == peer.session.reason


def test_octets_do_not_prolong_it(world):
    peer = world.peer()
    for octet in b"AMQP\0\0\x09":
        world.advance(1_500)
        if not peer.session.finished:
            peer.send_octets(bytes([octet]))
    assert peer.session.finished


def test_an_open_connection_has_no_deadline(world, peer):
    world.advance(100_000_000)
    assert not peer.session.finished


def test_a_close_waits_for_its_answer_and_no_longer(world, peer):
    peer.session.close(320, "maintenance")
    world.run()
    close = peer.next(0)
    assert (320, "CONNECTION_FORCED - maintenance") == (close.reply_code, close.reply_text)
    assert ("closing", False) == (peer.session.state, peer.session.finished)
    world.advance(10_000)
    assert ("closed", True, True) == (peer.session.state, peer.session.finished, peer.session.close_now)


def test_an_answered_close_is_over_at_once(world, peer):
    peer.session.close(320, "maintenance")
    peer.send(Connection.CloseOk(), channel=0)
    assert ("closed", True, True) == (peer.session.state, peer.session.finished, peer.session.close_now)


def test_who_has_not_logged_in_has_less_time_for_it(world):
    peer = world.peer()
    peer.send_octets(b"AMQP\0\0\x09\x01" + b"\x01\0\0\0\0\0\x04\0\x0a\0\x33\xce")
    world.run()
    assert 504 == peer.take(0)[-1].reply_code
    world.advance(1_000)
    assert peer.session.finished


def test_closing_before_the_header_is_just_closing(world):
    peer = world.peer()
    peer.session.close(320, "maintenance")
    world.run()
    assert ([], True) == (peer.take(0), peer.session.finished)


def test_closing_twice_says_it_once(world, peer):
    for _ in range(2):
        peer.session.close(320, "maintenance")
    world.run()
    assert 1 == len(peer.take(0))
