"""Beginnings and ends of queries, as options say them."""

import pytest

from pybroker.spark.stream.places import Ends
from pybroker.spark.stream_source import positions
from pybroker.spark.stream_source.positions import EARLIEST, LATEST, Position
from pybroker.spark.values import OptionError

ENDS = Ends(7, 10, 20)


class Link:
    """One message a second since second 0."""

    def resolve(self, _stream, begin):
        return begin.value // 1_000


def resolved(position, **how):
    return positions.resolve(position, "s", Link, ENDS, **how)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("earliest", 10),
        ("first", 10),
        ("Latest", 20),
        ("next", 20),
        ('{"s": 15}', 15),
        ('{"s": -2}', 10),
        ('{"s": -1}', 20),
        ('{"s": 3}', 10),
        ('{"s": 99}', 20),
    ],
)
def test_words_and_numbers(text, offset):
    assert resolved(positions.at_start(text)) == offset


@pytest.mark.parametrize("text", ["", "last", "23", "[]", "{}", '{"s": "1"}', '{"s": -3}', '{"s": true}', "{"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError, match=r"JSON|object|integer"):
        positions.at_start(text)


def test_no_query_ends_at_the_earliest():
    with pytest.raises(ValueError, match="latest, next or JSON"):
        positions.at_end("earliest")
    with pytest.raises(ValueError, match="from -1 on"):
        positions.at_end('{"s": -2}')


def test_times():
    assert resolved(positions.by_time(12_500)) == 12
    assert resolved(positions.by_stream('{"s": 3000}')) == 10
    assert resolved(positions.by_time(99_000)) == 20
    late = positions.by_time(99_000)._replace(option="startingTimestamp")
    with pytest.raises(
        OptionError, match=r"option startingTimestamp is .* later; startingOffsetsByTimestampStrategy=latest"
    ):
        resolved(late, late_is_error=True)


def test_each_stream_has_to_be_named_and_no_other():
    with pytest.raises(OptionError, match="does not name stream 's'"):
        resolved(positions.at_start('{"t": 1}'))
    with pytest.raises(OptionError, match="names 't', which is none of the streams s"):
        positions.check_names(Position(None, {"t": 1}, is_time=False), ["s"])
    positions.check_names(None, ["s"])
    assert (EARLIEST, LATEST) == (-2, -1)
