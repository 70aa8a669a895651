"""SeqRanges against the plain model: a list of (seq, size)."""

from hypothesis import given, strategies as st

from pybroker.seq_ranges import SeqRanges, merge

steps = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 2)), max_size=30)


def build(steps):
    """Return a stretch and its model from (gap before, count, size)."""
    stretch, model, seq = SeqRanges(), [], 1
    for gap, count, size in steps:
        seq += gap
        stretch.add(seq, count, size)
        model += [(seq + i, size) for i in range(count)]
        seq += count
    return stretch, model


def listed(stretch):
    seqs = [(first + i, size) for first, count, size in stretch.ranges() for i in range(count)]
    assert stretch.count == len(seqs)
    assert stretch.octets == sum(size for _, size in seqs)
    return seqs


@given(steps)
def test_what_is_added_is_there(steps):
    stretch, model = build(steps)
    assert model == listed(stretch)
    if model:
        assert (model[0][0], model[-1][0]) == (stretch.first_seq, stretch.last_seq)


def test_neighbours_of_equal_size_are_one_element():
    stretch, _ = build([(0, 3, 5), (0, 4, 5), (1, 1, 5), (0, 1, 6)])
    assert [(1, 7, 5), (9, 1, 5), (10, 1, 6)] == list(stretch.ranges())


@given(steps, st.integers(0, 60))
def test_the_front_can_be_taken(steps, count):
    stretch, model = build(steps)
    taken = stretch.take_front(count)
    assert (model[:count], model[count:]) == (listed(taken), listed(stretch))


@given(steps, st.integers(0, 60), st.integers(-1, 30))
def test_a_part_can_be_copied(steps, first, length):
    stretch, model = build(steps)
    part = stretch.between(first, first + length)
    assert [(seq, size) for seq, size in model if first <= seq <= first + length] == listed(part)
    assert model == listed(stretch)


@given(steps, steps)
def test_two_can_be_joined(first, second):
    stretch, model = build(first)
    other = SeqRanges()
    seq = 1_000
    for gap, count, size in second:
        seq += gap
        other.add(seq, count, size)
        model += [(seq + i, size) for i in range(count)]
        seq += count
    stretch.extend(other)
    assert model == listed(stretch)


@given(steps, st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), max_size=20))
def test_ranges_can_be_taken_out(steps, gaps):
    stretch, model = build(steps)
    gone, seq = [], 0
    for gap, length in gaps:
        gone.append((seq + gap, seq + gap + length))
        seq += gap + length
    left = [(s, size) for s, size in model if not any(first <= s <= last for first, last in gone)]
    assert left == listed(stretch.without(gone))
    assert model == listed(stretch)


@given(steps, st.lists(st.integers(0, 2), max_size=120))
def test_several_can_be_merged(steps, owners):
    _, model = build(steps)
    parts = [SeqRanges() for _ in range(3)]
    for (seq, size), owner in zip(model, owners, strict=False):
        parts[owner].add(seq, 1, size)
    assert model[: len(owners)] == listed(merge(parts))
