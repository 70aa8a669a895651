"""Entries by due time are a sorted list, in whatever order they come and go."""

import random

import pytest
from hypothesis import given, settings, strategies as st

from pybroker.core import due_index as index_module
from pybroker.core.delayed.index import DUE_MAX, SIZE_MAX, DelayedIndex, Item


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(index_module, "BLOCK", 3)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(-3, 9), st.integers(1, 500)),
        st.tuples(st.just("remove"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("drop"), st.integers(0, 8), st.just(0)),
    ),
    max_size=80,
)


@settings(deadline=None)
@given(STEPS)
def test_it_is_a_sorted_list(steps):
    delayed_index, model = DelayedIndex(), []
    for what, number, seq in steps:
        if what == "add" and not any(seq == each.seq for each in model):
            delayed_index.add(number, seq, seq % 7)
            model = sorted([*model, Item(number, seq, seq % 7)])
        elif what == "remove" and model:
            gone = model.pop(number % len(model))
            assert delayed_index.has(gone.due, gone.seq)
            assert delayed_index.remove(gone.due, gone.seq)
            assert not delayed_index.remove(gone.due, gone.seq)
            assert not delayed_index.has(gone.due, gone.seq)
        elif what == "drop":
            n = min(number, len(model))
            delayed_index.drop(n)
            model = model[n:]
    assert model == delayed_index.first(1_000)
    assert (len(model), sum(each.size for each in model)) == (len(delayed_index), delayed_index.octets)
    for count in (0, 1, 4):
        assert model[:count] == delayed_index.first(count)
    assert [each for each in model if each.due <= 4] == delayed_index.first(1_000, 4)
    for due, seq in [(-9, 0), (3, 250), (4, 0), *[(each.due, each.seq) for each in model]]:
        behind = [each for each in model if (each.due, each.seq) > (due, seq)]
        assert behind == delayed_index.after(due, seq, 1_000)
        assert behind[:2] == delayed_index.after(due, seq, 2)
    for each in model:
        assert each.due == delayed_index.find(each.seq)
    assert delayed_index.find(1_000) is None


def test_many_in_any_order_are_in_order():
    delayed_index = DelayedIndex()
    numbers = list(range(2_000))
    random.Random(1).shuffle(numbers)
    for number in numbers:
        delayed_index.add(number // 10, number, 1)
    assert list(range(2_000)) == [item.seq for item in delayed_index.first(2_000)]
    delayed_index.clear()
    assert (0, 0, []) == (len(delayed_index), delayed_index.octets, delayed_index.first(1))
    assert not delayed_index.remove(1, 1)


def test_what_no_column_holds_is_as_much_as_one_holds():
    delayed_index = DelayedIndex()
    delayed_index.add(1 << 70, 1, 1 << 40)
    assert [Item(DUE_MAX, 1, SIZE_MAX)] == delayed_index.first(1)
    assert delayed_index.remove(1 << 70, 1)
