"""A footer says again what the records said."""

from array import array

import pytest
from hypothesis import given, strategies as st

from pybroker.seq_ranges import SeqRanges
from pybroker.store.format import FormatError
from pybroker.store.segments.footer import Footer
from pybroker.store.segments.live_index import Index, Target

U64 = st.integers(0, (1 << 64) - 1)
U32 = st.integers(0, (1 << 32) - 1)


@st.composite
def seq_ranges(draw):
    made = SeqRanges()
    seq = 1
    for gap, count, size in draw(
        st.lists(st.tuples(st.integers(0, 9), st.integers(1, 1 << 20), st.integers(0, 1 << 20)))
    ):
        made.add(seq + gap, count, size)
        seq += gap + count
    return made


TARGETS = st.builds(Target, st.integers(0, 255), st.booleans(), st.lists(U64, max_size=4).map(tuple))
INDEXES = st.lists(st.tuples(U64, U32)).map(
    lambda points: Index(array("Q", [seq for seq, _ in points]), array("I", [offset for _, offset in points]))
)


def parts(footer):
    return (
        (footer.first_commit_position, footer.last_commit_position, footer.newest_ms),
        {target: list(seq_ranges.ranges()) for target, seq_ranges in footer.by_target.items()},
        {target: (seq_ranges.count, seq_ranges.octets) for target, seq_ranges in footer.by_target.items()},
        (footer.index.seqs, footer.index.offsets),
    )


@given(U64, U64, U64, st.dictionaries(TARGETS, seq_ranges(), max_size=4), INDEXES)
def test_a_footer_is_read_as_it_was_written(first, last, newest_ms, by_target, index):
    footer = Footer(first, last, newest_ms, by_target, index)
    assert parts(Footer.decode(footer.encode())) == parts(footer)


def test_a_footer_of_another_length_is_refused():
    seq_ranges = SeqRanges()
    seq_ranges.add(5, 10, 100)
    octets = Footer(1, 2, 3, {Target(0, False, (7, 8)): seq_ranges}, Index(array("Q", [5]), array("I", [64]))).encode()
    for end in range(len(octets)):
        with pytest.raises(FormatError):
            Footer.decode(octets[:end])
    with pytest.raises(FormatError):
        Footer.decode(octets + b"\0")
