"""Finding streams for a user."""

import pytest

from pybroker.core.auth.permissions import READ, WRITE
from pybroker.errors import AccessRefused, PreconditionFailed
from pybroker.stream.access import check_name, find_stream, may, may_use, stream_of
from pybroker.stream.refused import Refused
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Code


def test_a_permission_comes_before_the_stream(world, peer):
    session = peer.session
    world.broker.users.set_permissions("guest", "/", ".*", "^s$", "^$")
    assert (True, False, True, False) == (
        may(session, WRITE, "s"),
        may(session, READ, "s"),
        may_use(session, "s"),
        may_use(session, "t"),
    )
    for name in ("s", "t"):
        with pytest.raises(AccessRefused, match=f"read access to queue '{name}' in vhost '/' refused for user 'guest'"):
            stream_of(session, name, READ)
    assert world.vhost.queues["s"] is stream_of(session, "s", WRITE)


def test_a_queue_is_no_stream(world, peer):
    world.connect().declare("q")
    assert find_stream(peer.session, "q") is None
    with pytest.raises(Refused) as caught:
        stream_of(peer.session, "q", READ)
    assert Code.STREAM_DOES_NOT_EXIST == caught.value.code


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "the name is empty"),
        ("amq.s", "names with 'amq.' in front are reserved: 'amq.s'"),
        ("ü" * 128, "the name has more than 255 octets"),
    ],
)
def test_a_name_is_refused_with_a_reason(name, why):
    with pytest.raises(PreconditionFailed) as caught:
        check_name(name)
    assert caught.value.text.startswith(why)


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
