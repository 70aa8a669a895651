import random

import pytest
from hypothesis import given, settings, strategies as st

from pybroker.core.delayed import index as agendas
from pybroker.core.delayed.index import DUE_MAX, DelayedIndex, Item


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(agendas, "BLOCK", 3)


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
    agenda, model = DelayedIndex(), []
    for what, number, seq in steps:
        if what == "add" and not any(seq == each.seq for each in model):
            agenda.add(number, seq, seq % 7)
            model = sorted([*model, Item(number, seq, seq % 7)])
        elif what == "remove" and model:
            gone = model.pop(number % len(model))
            assert agenda.has(gone.due, gone.seq)
            assert agenda.remove(gone.due, gone.seq)
            assert not agenda.remove(gone.due, gone.seq)
            assert not agenda.has(gone.due, gone.seq)
        elif what == "drop":
            n = min(number, len(model))
            agenda.drop(n)
            model = model[n:]
    assert model == agenda.first(1_000)
    assert (len(model), sum(each.size for each in model)) == (len(agenda), agenda.octets)
    for count in (0, 1, 4):
        assert model[:count] == agenda.first(count)
    assert [each for each in model if each.due <= 4] == agenda.first(1_000, 4)
    for due, seq in [(-9, 0), (3, 250), (4, 0), *[(each.due, each.seq) for each in model]]:
        behind = [each for each in model if (each.due, each.seq) > (due, seq)]
        assert behind == agenda.after(due, seq, 1_000)
        assert behind[:2] == agenda.after(due, seq, 2)
    for each in model:
        assert each.due == agenda.find(each.seq)
    assert agenda.find(1_000) is None


def test_many_in_any_order_are_in_order():
    agenda = DelayedIndex()
    numbers = list(range(2_000))
    random.Random(1).shuffle(numbers)
    for number in numbers:
        agenda.add(number // 10, number, 1)
    assert list(range(2_000)) == [item.seq for item in agenda.first(2_000)]
    agenda.clear()
    assert (0, 0, []) == (len(agenda), agenda.octets, agenda.first(1))
    assert not agenda.remove(1, 1)


def test_what_no_column_holds_is_as_much_as_one_holds():
    agenda = DelayedIndex()
    agenda.add(1 << 70, 1, 1 << 40)
    assert [Item(DUE_MAX, 1, agendas.SIZE_MAX)] == agenda.first(1)
    assert agenda.remove(1 << 70, 1)
