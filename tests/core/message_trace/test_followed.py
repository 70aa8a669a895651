from pybroker.core.message_trace.followed import READY, UNACKNOWLEDGED, Copy, Followed


def test_a_message_is_settled_without_copies(world, peer):
    queue = world.vhost.queues["q"]
    followed = Followed(1, 0)
    assert followed.is_settled
    first, second = Copy(queue, 5, READY, 0), Copy(world.vhost.exchanges[""], 5, READY, 0)
    followed.add(first)
    followed.add(second)
    assert not followed.is_settled
    assert not followed.remove(first), "another copy has the same seq"
    assert followed.remove(second)
    assert followed.is_settled


def test_a_transaction_keeps_it_open():
    followed = Followed(1, 0)
    followed.waits_for(("channel", "transaction"))
    assert not followed.is_settled
    followed.entered()
    assert followed.is_settled


def test_a_reason_to_wait_is_new_once_for_each_state(world, peer):
    copy = Copy(world.vhost.queues["q"], 1, READY, 0)
    assert copy.waits_anew("no_consumer")
    assert not copy.waits_anew("no_consumer")
    copy.become(UNACKNOWLEDGED, 7, {"user": "u"})
    assert (7, {"user": "u"}) == (copy.since_ms, copy.holder)
    copy.become(READY, 9)
    assert copy.waits_anew("no_consumer")
