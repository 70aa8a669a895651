"""One row as text: every part of it counts for the checksum, and a definitions file's line is the row again."""

import json

from hypothesis import given, strategies as st

from pybroker.store.definitions.definitions import KINDS
from pybroker.store.definitions.rows import Row, Sum, decoded, describe, line_of, queue_ids, row_of, text_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
# The names of a key's parts are not a value's.
VALUES = st.dictionaries(TEXT.filter(lambda name: name not in {"vhost", "name"}), JSON, max_size=4)


@given(TEXT, TEXT, VALUES)
def test_a_line_of_a_definitions_file_is_the_row_again(vhost, name, value):
    row = Row("queue", (vhost, name), text_of(value), 5)
    assert json.loads(line_of(row)) == {"vhost": vhost, "name": name, **value}
    assert row == row_of("queue", json.loads(line_of(row)), 5)
    assert value == row.value


def test_every_part_counts_for_the_checksum():
    row = Row("queue", ("/", "q"), '{"id":1}', 5)
    others = [
        row._replace(kind="exchange"),
        row._replace(key=("/q", "")),
        row._replace(key=("q", "/")),
        row._replace(text='{"id":2}'),
        row._replace(change=6),
    ]
    assert 6 == len({each.checksum() for each in [row, *others]})


def test_half_a_surrogate_pair_in_a_value_is_escaped():
    text = text_of({"pattern": "\udcff"})
    assert {"pattern": "\udcff"} == json.loads(text.encode())


def test_rows_are_decoded_by_kind():
    rows = [Row("vhost", ("/",), "{}", 1), Row("queue", ("/", "q"), '{"id":1}', 1)]
    assert {"/": {}} == {name: value for (name,), value in decoded(rows)["vhost"].items()}
    assert {("/", "q"): {"id": 1}} == decoded(rows)["queue"]
    assert set(KINDS) == set(decoded([]))


def test_the_log_keeps_messages_of_queues_and_of_exchanges_that_delay():
    rows = decoded([])
    rows["queue"]["/", "q"] = {"id": 4}
    rows["exchange"] |= {("/", "x"): {"schedule_id": 7}, ("/", "y"): {"type": "direct"}}
    assert [4, 7] == queue_ids(rows)


def test_a_row_has_a_name_for_the_operator():
    assert "topic permission (user 'u', vhost '/', exchange 'x')" == describe("topic_permission", ("u", "/", "x"))


def test_what_is_taken_from_a_sum_was_never_in_it():
    total = Sum()
    total.add(3)
    total.add(1 << 63)
    total.add(1 << 63)
    assert (3, 3) == (total.count, total.total)
    total.remove(3)
    assert (2, 0) == (total.count, total.total)
