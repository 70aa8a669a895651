"""Answers of Erlang's VM and RabbitMQ 3.10.8: a key must fall where it fell there."""

import pytest

from pybroker.wire.erlang_hash import RANGE, jump, phash2


@pytest.mark.parametrize(
    ("term", "hashed"),
    [
        (b"a", 112802447),
        (b"", 13708901),
        (("longstr", b"a"), 65711459),
        ([b"a"], 53691870),
        ([b""], 38220213),
    ],
)
def test_terms_have_the_hash_they_have_in_erlang(term, hashed):
    assert hashed == phash2(term)


def test_numbers_of_any_size_have_a_hash():
    found = {phash2(("long", value)) for value in (0, -1, 1, 1 << 27, -(1 << 27) - 1, 1 << 62, -(1 << 63), 1 << 64)}
    assert len(found) == 8
    assert all(0 <= each < RANGE for each in found)


def test_one_more_bucket_moves_only_what_it_gets():
    for buckets in range(1, 40):
        before = [jump(key, buckets) for key in range(100)]
        after = [jump(key, buckets + 1) for key in range(100)]
        assert all(new in {old, buckets} for old, new in zip(before, after, strict=True))
        assert set(before) <= set(range(buckets))


def test_a_hash_that_is_no_term_of_ours_is_refused():
    with pytest.raises(TypeError):
        phash2(1.5)
