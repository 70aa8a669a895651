"""Requests that need a stream's tracking, while that is read back after a start."""

from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code


def test_a_request_waits_and_what_is_behind_it(world, peer, monkeypatch):
    calls = []
    tracking = world.vhost.queues["s"].tracking
    monkeypatch.setattr(type(tracking), "is_ready", False)
    monkeypatch.setattr(type(tracking), "when_ready", lambda _, call: calls.append(call))
    peer.send(commands.QueryOffset(5, "me", "s"), commands.StreamStats(6, "s"))
    assert ([], False) == (peer.answers, peer.session.readable)
    assert "the recovery of a stream that it asked for" == str(next(iter(peer.session.throttle.causes)))
    monkeypatch.undo()
    calls[0]()
    world.run()
    assert [(5, Code.NO_OFFSET), (6, Code.OK)] == [(each.correlation_id, each.code) for each in peer.answers]


def test_a_session_that_has_gone_is_left_alone(world, peer, monkeypatch):
    calls = []
    tracking = world.vhost.queues["s"].tracking
    monkeypatch.setattr(type(tracking), "is_ready", False)
    monkeypatch.setattr(type(tracking), "when_ready", lambda _, call: calls.append(call))
    peer.send(commands.DeclarePublisher(5, 1, "me", "s"))
    peer.disconnect()
    calls[0]()
    world.run()
    assert [] == peer.answers
