"""A DELAY record is read as it was written."""

from array import array

from hypothesis import given, strategies as st

from pybroker.store import format as fmt
from pybroker.store.segments.delay import decode_delay, encode_delay
from tests.store.records import SEED


@given(
    st.lists(
        st.tuples(
            st.integers(0, (1 << 64) - 1),
            st.integers(0, (1 << 32) - 1),
            st.integers(0, (1 << 64) - 1),
            st.lists(st.integers(0, (1 << 64) - 1), max_size=3).map(
                lambda seqs: array("Q", [seq for each in seqs for seq in (each, each)])
            ),
        ),
        max_size=4,
    )
)
def test_a_delay_is_read_as_it_was_written(groups):
    assert groups == decode_delay(encode_delay(groups, SEED)[fmt.RECORD_OCTETS :])
