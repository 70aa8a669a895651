"""Which consumers of a stream are served."""

from types import SimpleNamespace

from pybroker.core.stream.consumers import StreamConsumers


class One(SimpleNamespace):
    __hash__ = object.__hash__

    def credit(self):
        return self.left


def one(left=1):
    return One(left=left, exclusive=False, waiting=False, active=False, cancelled=False, paused=None, priority=0)


def test_all_that_have_credit_are_served_in_turn():
    consumers, a, b, poor = StreamConsumers(), one(), one(), one(0)
    for each in (a, b, poor):
        consumers.add(each)
    assert consumers.served() == [a, b]
    consumers.rotate(a)
    assert consumers.served() == [b, a]
    assert (poor.waiting, len(consumers), consumers.next()) == (True, 3, b)
    poor.left = 1
    consumers.resume(poor)
    assert consumers.served() == [b, a, poor]


def test_one_that_leaves_is_not_served():
    consumers, a = StreamConsumers(), one()
    consumers.add(a)
    consumers.remove(a)
    assert (consumers.served(), consumers.next(), a.cancelled) == ([], None, True)


def test_pauses():
    consumers, a, b = StreamConsumers(), one(), one()
    consumers.add(a)
    consumers.add(b)
    consumers.pause(a)
    assert consumers.served() == [b]
    consumers.hold(held=True)
    assert (consumers.served(), consumers.next()) == ([], None)
    consumers.hold(held=False)
    consumers.unpause(a)
    assert consumers.served() == [b, a]
