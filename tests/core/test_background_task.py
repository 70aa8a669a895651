"""A task stands in the pump's line once, however often it is woken."""

from pybroker.core.background_task import BackgroundTask
from tests.topology import new_vhost


class Counting(BackgroundTask):
    __slots__ = ("left", "times")

    def deliver(self, now_ms: int) -> None:
        self.times += 1
        self.left -= 1
        if self.left:
            self.wake()


def test_a_chore_is_served_once_a_turn_until_it_is_done():
    broker = new_vhost().broker
    task = Counting(broker.turn)
    task.left, task.times = 3, 0
    task.wake()
    task.wake()
    for times in (1, 2, 3, 3):
        broker.pump()
        assert times == task.times
    assert ([], False) == (list(broker.turn.queues), task.awake)


def test_one_that_goes_on_asks_for_the_next_turn_once():
    broker = new_vhost().broker
    task = BackgroundTask(broker.turn)
    broker.turn.woken = False
    task.wake_again()
    task.wake_again()
    task.wake()
    assert ([task], True) == (list(broker.turn.queues), broker.turn.woken)


def test_the_first_to_wake_asks_for_the_turn():
    broker = new_vhost().broker
    broker.turn.woken = False
    BackgroundTask(broker.turn).wake()
    assert broker.turn.woken
