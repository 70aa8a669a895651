import tracemalloc

import pytest
from hypothesis import given, strategies as st

from pybroker.run import PLAIN_ATTRIBUTES, RUN_OCTETS, Entry, Names, Run, held, octets_held
from tests.contents import content, run

NAMES = Names("", "q", b"")

BODIES = st.lists(st.binary(max_size=5), min_size=1, max_size=12)


@st.composite
def runs_and_ranges(draw):
    bodies = draw(BODIES)
    start = draw(st.integers(0, len(bodies) - 1))
    indexes = range(start, draw(st.integers(start + 1, len(bodies))), draw(st.integers(1, 4)))
    return run(*bodies), bodies, indexes


@given(runs_and_ranges(), st.booleans())
def test_slices_of_a_run_are_its_contents_packed_or_not(case, packed):
    messages, bodies, indexes = case
    if packed:
        messages.pack()
    assert messages.contents_at(indexes) == [content(bodies[i]) for i in indexes]
    assert messages.body_octets_of(indexes) == sum(len(bodies[i]) for i in indexes)
    assert messages.content(indexes[0]) == content(bodies[indexes[0]])


@given(BODIES, BODIES)
def test_an_extended_run_is_both(first, second):
    messages, more = run(*first, first_seq=5), run(*second)
    messages.extend(more.contents, more.octets, more.body_octets, more.body_size)
    whole = run(*first, *second, first_seq=5)
    assert messages.contents == whole.contents
    assert (messages.count, messages.octets, messages.body_octets) == (whole.count, whole.octets, whole.body_octets)
    assert [messages.body_octets_of(range(i, i + 1)) for i in range(whole.count)] == [
        len(each) for each in [*first, *second]
    ]


def test_a_run_of_equal_sizes_knows_it_until_another_size_comes():
    messages = run(b"ab", b"cd")
    assert messages.body_size == 2
    messages.extend([content(b"xyz")], len(content(b"xyz")), 3, 3)
    assert messages.body_size == -1


def test_packing_leaves_one_block():
    messages = run(b"a", b"bb", b"ccc")
    messages.pack()
    assert messages.contents is None
    assert messages.contents is None
    messages.pack()
    assert messages.contents_at(range(3)) == [content(b"a"), content(b"bb"), content(b"ccc")]


def test_one_object_many_times_is_smaller_than_any_block():
    messages = run(b"a")
    same = messages.contents[0]
    messages.extend([same] * 5, 5 * len(same), 5, 1)
    messages.pack()
    assert messages.contents is not None


def test_a_single_message_is_not_packed():
    messages = run(b"a")
    messages.pack()
    assert messages.contents is not None


def test_a_packed_run_cannot_grow():
    messages = run(b"a", b"b")
    messages.pack()
    with pytest.raises(AssertionError):
        messages.extend([content(b"c")], 1, 1, 1)


def test_an_entry_is_a_queues_view_of_a_run():
    entry = Entry(run(b"a", b"bb", b"ccc", b"dddd", first_seq=100), range(1, 4, 2), 2)
    assert (len(entry), entry.first_seq, entry.last_seq, entry.body_octets) == (2, 101, 103, 6)
    assert repr(entry) == "Entry(seqs 101..103, 2, deliveries 2)"


def test_what_runs_hold_in_memory_is_counted_from_birth_to_end():
    before = held.octets
    contents = [b"%020d" % n for n in range(10)]
    run = Run(NAMES, PLAIN_ATTRIBUTES, 1, contents[:1], 20, 4, 4, 0)
    before += RUN_OCTETS
    assert before + octets_held(contents[:1], 20) == held.octets
    run.extend(contents[1:], 180, 36, 4)
    assert before + octets_held(contents, 200) == held.octets
    run.pack()
    assert before + run.held_octets == held.octets < before + octets_held(contents, 200)
    part = run.part(range(2))
    assert before + RUN_OCTETS + run.held_octets + part.held_octets == held.octets
    del run, part
    assert before - RUN_OCTETS == held.octets


def test_what_is_around_the_contents_of_a_run_is_counted_as_it_is_measured():
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    entries = [Entry(run(b"%040d" % n, first_seq=1_000 + n), range(1)) for n in range(1_000)]
    each = (tracemalloc.get_traced_memory()[0] - before) / 1_000 - entries[0].run.held_octets
    tracemalloc.stop()
    assert 0.7 < RUN_OCTETS / each < 1.1


def test_a_flood_of_equal_messages_holds_one_of_them():
    before = held.octets
    content = b"x" * 1_000
    run = Run(NAMES, PLAIN_ATTRIBUTES, 1, [content] * 100, 100_000, 100, 1, 0)
    run.extend([content] * 900, 900_000, 900, 1)
    assert held.octets - before < RUN_OCTETS + 1_000 + 100 + 8 * 1_000
    del run
    assert before == held.octets
