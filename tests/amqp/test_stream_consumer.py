"""Offsets in the headers of what a stream delivers."""

from dataclasses import replace

import pytest

from pybroker.amqp.stream_consumer import with_offsets
from pybroker.content_view import body, property_octets
from pybroker.wire.properties import Properties, decode_properties, encode_properties
from pybroker.wire.table import Table
from tests.streams import content_frames


def content(octets, **properties):
    if "headers" in properties:
        properties["headers"] = Table(properties["headers"])
    return b"".join(content_frames(1, octets, encode_properties(Properties(**properties)), 10))


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"delivery_mode": 2, "content_type": "x-stream-offset", "correlation_id": "x-stream-offsetl\x00"},
        {"headers": {"a": 1}, "message_id": "m"},
        {"headers": {"x-stream-offset": 5, "b": "c"}, "priority": 3},
    ],
)
def test_everything_else_stays(properties):
    contents = [content(b"one", **properties), content(b"another one, longer", **properties)]
    for number, (before, after) in enumerate(zip(contents, with_offsets(contents, 258, 0), strict=True)):
        told, expected = (decode_properties(property_octets(each)) for each in (after, before))
        assert dict(told.headers) == {**(expected.headers or {}), "x-stream-offset": 258 + number}
        assert replace(told, headers=None) == replace(expected, headers=None)
        assert body(after) == body(before)


def test_a_header_that_would_be_too_long_stays_as_it_is():
    one = content(b"x", headers={"a": "b" * 4_000})
    assert with_offsets([one], 0, 4_096) != [one]
    longer = content(b"x", headers={"a": "b" * 4_060})
    assert with_offsets([longer], 0, 4_096) == [longer]
