"""Removals: one at a time, and none that was not begun when the node stops."""

import pytest

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
    assert (begun, done) == ([], [])


def test_one_that_could_not_be_passed_on_keeps_none_of_the_others(monkeypatch):
    worker = InlineWorker()
    removals = Removals(worker)
    done = []

    def short_of_memory(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(worker, "submit", short_of_memory)
        with pytest.raises(MemoryError):
            removals.submit(lambda: "a", done.append)
    for name in "bc":
        removals.submit(lambda name=name: name, done.append)
    worker.run()
    assert done == ["b", "c"]


def test_the_end_of_one_is_told_though_the_next_could_not_be_passed_on(monkeypatch):
    worker = InlineWorker()
    removals = Removals(worker)
    done = []
    for name in "ab":
        removals.submit(lambda name=name: name, done.append)
    submit, failures = worker.submit, [MemoryError()]

    def once(*job):
        if failures:
            raise failures.pop()
        submit(*job)

    monkeypatch.setattr(worker, "submit", once)
    with pytest.raises(MemoryError):
        worker.run()
    assert done == ["a"]
    removals.submit(lambda: "c", done.append)
    worker.run()
    assert done == ["a", "b", "c"]
