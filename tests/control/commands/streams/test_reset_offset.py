import pytest

from pybroker.control.spec import BadArguments, Refused
from pybroker.wire.stream import commands


@pytest.fixture
def stored(client):
    client.send(commands.StoreOffset("reader", "s", 2))
    return client


@pytest.mark.parametrize(("given", "offset"), [({}, 0), ({"to": "1"}, 1), ({"to": "-1"}, 2), ({"to": "next"}, 3)])
def test_another_offset_is_stored(operator, stored, given, offset):
    answer = operator.ask("reset_offset", stream="s", reference="reader", **given)
    assert (answer["offset"], answer["offset_before"]) == (offset, 2)
    assert answer["message"] == f"Done: offset {offset} is stored for 'reader'; it was 2"
    assert operator.list("list_stream_tracking", "value", stream="s", offset=True) == [offset]


def test_a_name_that_never_stored_one_is_refused(operator, stored):
    with pytest.raises(Refused, match="no consumer has stored an offset as 'other' in stream 's'"):
        operator.ask("reset_offset", stream="s", reference="other")


def test_what_is_no_place_is_refused(operator, stored):
    with pytest.raises(BadArguments, match="--to: expected first"):
        operator.ask("reset_offset", stream="s", reference="reader", to="soon")
