"""SeqRanges against the plain model: a list of (seq, size)."""

from hypothesis import given, strategies as st

from pybroker.seq_ranges import SeqRanges, merge

steps = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 2)), max_size=30)


def build(steps):
    """Return seq ranges and their model from (gap before, count, size)."""
    seq_ranges, model, seq = SeqRanges(), [], 1
    for gap, count, size in steps:
        seq += gap
        seq_ranges.add(seq, count, size)
        model += [(seq + i, size) for i in range(count)]
        seq += count
    return seq_ranges, model


def listed(seq_ranges):
    seqs = [(first + i, size) for first, count, size in seq_ranges.ranges() for i in range(count)]
    assert seq_ranges.count == len(seqs)
    assert seq_ranges.octets == sum(size for _, size in seqs)
    return seqs


@given(steps)
def test_what_is_added_is_there(steps):
    seq_ranges, model = build(steps)
    assert model == listed(seq_ranges)
    if model:
        assert (model[0][0], model[-1][0]) == (seq_ranges.first_seq, seq_ranges.last_seq)


def test_neighbours_of_equal_size_are_one_element():
    seq_ranges, _ = build([(0, 3, 5), (0, 4, 5), (1, 1, 5), (0, 1, 6)])
    assert [(1, 7, 5), (9, 1, 5), (10, 1, 6)] == list(seq_ranges.ranges())


@given(steps, st.integers(0, 60))
def test_the_front_can_be_taken(steps, count):
    seq_ranges, model = build(steps)
    taken = seq_ranges.pop_front(count)
    assert (model[:count], model[count:]) == (listed(taken), listed(seq_ranges))


@given(steps, st.integers(0, 60), st.integers(-1, 30))
def test_a_part_can_be_copied(steps, first, length):
    seq_ranges, model = build(steps)
    part = seq_ranges.between(first, first + length)
    assert [(seq, size) for seq, size in model if first <= seq <= first + length] == listed(part)
    assert model == listed(seq_ranges)


@given(steps, steps)
def test_two_can_be_joined(first, second):
    seq_ranges, model = build(first)
    other = SeqRanges()
    seq = 1_000
    for gap, count, size in second:
        seq += gap
        other.add(seq, count, size)
        model += [(seq + i, size) for i in range(count)]
        seq += count
    seq_ranges.extend(other)
    assert model == listed(seq_ranges)


@given(steps, st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), max_size=20))
def test_ranges_can_be_taken_out(steps, gaps):
    seq_ranges, model = build(steps)
    gone, seq = [], 0
    for gap, length in gaps:
        gone.append((seq + gap, seq + gap + length))
        seq += gap + length
    left = [(s, size) for s, size in model if not any(first <= s <= last for first, last in gone)]
    assert left == listed(seq_ranges.without(gone))
    assert model == listed(seq_ranges)


@given(steps, st.lists(st.integers(0, 2), max_size=120))
def test_several_can_be_merged(steps, owners):
    _, model = build(steps)
    parts = [SeqRanges() for _ in range(3)]
    for (seq, size), owner in zip(model, owners, strict=False):
        parts[owner].add(seq, 1, size)
    assert model[: len(owners)] == listed(merge(parts))
