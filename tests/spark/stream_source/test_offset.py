"""The form of offsets in checkpoints, which is kept."""

import json

import pytest

from pybroker.spark.stream_source.offset import At, OffsetError, decode, encode

GOLDEN = '{"streams": {"a": {"id": 7, "next": 123}, "b": {"id": 0, "next": 0}}, "v": 1}'


def test_the_form():
    assert json.dumps(encode({"b": At(0, 0), "a": At(7, 123)})) == GOLDEN
    assert decode(json.loads(GOLDEN)) == {"a": At(7, 123), "b": At(0, 0)}


def test_offsets_of_others_are_refused():
    with pytest.raises(OffsetError, match="of version 2"):
        decode({"v": 2, "streams": {}})
    with pytest.raises(OffsetError, match="reads a queue"):
        decode({"segment": 3, "queue": "q"})
