"""Removals: one at a time, and none that was not begun when the node stops."""

from pybroker.store.streams.removals import Removals
from tests.inline_worker import InlineWorker


def test_others_have_their_turn_between_two():
    worker = InlineWorker()
    removals = Removals(worker)
    done = []
    for name in "ab":
        removals.submit(lambda name=name: name, done.append)
    worker.submit(lambda: "other", done.append)
    worker.run()
    assert done == ["a", "other", "b"]


def test_what_was_not_begun_is_forgotten():
    worker = InlineWorker()
    removals = Removals(worker)
    begun, done = [], []
    for name in "abc":
        removals.submit(lambda name=name: begun.append(name), done.append)
    removals.stop()
    worker.run()
    assert (begun, done) == ([], [None])
