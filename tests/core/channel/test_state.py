"""State that deliveries and settles of a channel share: credit returns to its consumer, messages to their queues."""

import pytest

from pybroker.core.channel.state import ChannelState, SessionState
from pybroker.core.channel.throttle import JOURNAL, PEER
from pybroker.core.channel.unacked import Batch
from tests.readers import Bench, Peer
from tests.topology import new_vhost


def test_an_ack_gives_credit_back_and_the_next_message_comes():
    bench = Bench()
    reader = bench.reader(prefetch=2)
    bench.flood(5)
    bench.turn()
    reader.channel.settle(reader.channel.unacked.pop_up_to(1) or [])
    bench.turn()
    assert ([1, 2, 3], 2, 1) == (reader.seqs, reader.unacked, bench.queue.acked)


@pytest.mark.parametrize("requeue", [True, False])
def test_a_reject_gives_credit_back_too(requeue):
    bench = Bench()
    reader = bench.reader(prefetch=1)
    bench.flood(2)
    bench.turn()
    reader.channel.give_back(reader.channel.unacked.pop_up_to(1) or [], requeue=requeue)
    bench.turn()
    assert [1, 1 if requeue else 2] == reader.seqs
    assert 1 == reader.channel.unacked_consumed == reader.unacked


def test_what_get_took_has_no_consumer_to_give_credit_to():
    bench = Bench()
    channel = bench.channel()
    bench.flood(1)
    entry = bench.queue.get(no_ack=False)
    assert entry is not None
    channel.unacked.append(Batch(1, bench.queue, None, entry.run, entry.indexes, 0, 0))
    channel.settle(channel.unacked.pop_up_to(0) or [])
    assert (0, 0) == (channel.unacked_consumed, bench.queue.messages)


def test_messages_of_several_queues_go_back_each_to_its_own():
    vhost = new_vhost()
    one, other = Bench(vhost, "one"), Bench(vhost, "other")
    channel = ChannelState(Peer(vhost))
    readers = [one.reader("1", channel, prefetch=9), other.reader("2", channel, prefetch=9)]
    for _ in range(3):
        one.flood(1)
        other.flood(1)
    one.turn()
    for bench, reader in zip((one, other), readers, strict=True):
        bench.queue.consumers.remove(reader)
    channel.give_back(channel.unacked.pop_up_to(0) or [], requeue=True)
    assert ([1, 3, 5], [2, 4, 6]) == (one.ready(), other.ready())
    assert [0, 0] == [reader.unacked for reader in readers]


def test_g15_an_ack_of_one_consumer_lets_another_of_the_channel_go_on():
    vhost = new_vhost()
    one, other = Bench(vhost, "one"), Bench(vhost, "other")
    channel = ChannelState(Peer(vhost))
    channel.prefetch_global = 2
    first, second = one.reader("1", channel), other.reader("2", channel)
    one.flood(2)
    one.turn()
    other.flood(2)
    other.turn()
    assert ([1, 2], []) == (first.seqs, second.seqs)
    channel.settle(channel.unacked.pop_up_to(2) or [])
    one.turn()
    assert [3, 4] == second.seqs


def test_resuming_wakes_who_waited_and_nobody_else():
    bench = Bench()
    channel = bench.channel()
    full, idle = bench.reader("full", channel, prefetch=1), bench.reader("idle", channel, prefetch=9)
    bench.flood(6)
    bench.turn()
    assert full.waiting
    full.prefetch = 3
    channel.resume_consumers()
    assert not full.waiting
    assert not idle.waiting


def test_a_session_without_a_door_cannot_send():
    vhost = new_vhost()
    session = SessionState(vhost.broker, vhost.broker.turn, 4)
    assert (4, None, None, {}) == (session.id, session.user, session.vhost, session.exclusive_queues)
    with pytest.raises(NotImplementedError):
        session.queued(1)


def test_many_acks_at_once_look_for_who_may_go_on_once(monkeypatch):
    # With a limit for the channel that is everybody: 5,000 consumers times 6,000 acks of a chunk were a second.
    bench = Bench()
    channel = bench.channel()
    channel.prefetch_global = 40
    for i in range(10):
        bench.reader(str(i), channel)
    for _ in range(80):
        bench.flood(1)
    bench.turn()
    calls = []
    original = ChannelState.resume_consumers
    monkeypatch.setattr(ChannelState, "resume_consumers", lambda self: (calls.append(self), original(self)))
    channel.settle(channel.unacked.pop_up_to(0) or [])
    assert [channel] == calls
    bench.turn()
    assert 40 == channel.unacked_consumed
    channel.give_back(channel.unacked.pop_up_to(0) or [], requeue=True)
    assert 2 == len(calls)
    bench.turn()
    assert (40, 0) == (channel.unacked_consumed, bench.queue.messages_ready)


def test_a_session_is_read_while_there_is_no_reason_not_to():
    vhost = new_vhost()
    session = Peer(vhost)
    session.resume_reading(JOURNAL)
    assert (True, False) == (session.readable, session.dirty)
    session.stop_reading(JOURNAL)
    session.stop_reading(PEER)
    session.stop_reading(JOURNAL)
    session.resume_reading(JOURNAL)
    assert (False, False) == (session.readable, session.dirty)
    session.resume_reading(PEER)
    assert (True, True) == (session.readable, session.dirty)
