"""Replies that wait for the disk, and what a channel says behind them."""

from types import SimpleNamespace

import pytest

from pybroker.core.peer.channel import PeerChannel
from pybroker.core.peer.reply_queue import REPLIES_MAX
from pybroker.errors import InternalError


class Channel(PeerChannel):
    """Keeps what it learns."""

    __slots__ = ("learnt",)

    def __init__(self, session) -> None:
        super().__init__(session, 3)
        self.learnt = []

    def replies_began(self) -> None:
        self.learnt.append("began")

    def replies_ended(self) -> None:
        self.learnt.append("ended")

    def replies_failed(self, error: InternalError) -> None:
        self.learnt.append(error.text)


@pytest.fixture
def channel(peer):
    return Channel(peer.session)


def source(completed: int = 0, failed: str = ""):
    return SimpleNamespace(completed=completed, failed=failed)


def test_what_is_said_behind_a_reply_waits_with_it(world, channel):
    disk, session = source(), channel.session
    channel.send_octets_when(b"1", disk, 5)
    channel.send_octets(b"2")
    assert ([], [channel]) == (session.outbox, list(world.broker.waiting))
    disk.completed = 5
    world.broker.advance_replies()
    assert ([b"1", b"2"], {}, ["began", "ended"]) == (session.outbox, world.broker.waiting, channel.learnt)
    channel.send_octets_when(b"3", disk, 5)
    assert b"3" == session.outbox[-1]


def test_a_place_may_be_kept(world, channel):
    reply = channel.reserve_octets(b"1")
    channel.send_octets(b"2")
    channel.advance()
    assert [] == channel.session.outbox
    channel.release(reply, 0)
    assert [b"1", b"2"] == channel.session.outbox


def test_one_that_will_never_come(channel):
    disk = source()
    channel.send_octets_when(b"1", disk, 5)
    disk.failed = "no disk"
    channel.advance()
    assert ["began", "no disk"] == channel.learnt
    with pytest.raises(InternalError, match="no disk"):
        channel.wait_for(b"2", disk, 6)


def test_many_stop_the_reading(channel):
    disk, session = source(), channel.session
    for number in range(REPLIES_MAX):
        assert session.readable
        channel.send_octets_when(b"1", disk, number + 1)
    assert not session.readable
    disk.completed = REPLIES_MAX // 2
    channel.advance()
    assert session.readable
    channel.drop_line()
    assert channel.reply_queue is None
