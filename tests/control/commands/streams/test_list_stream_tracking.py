import pytest

from pybroker.control.spec import BadArguments
from pybroker.wire.stream import commands


@pytest.fixture(autouse=True)
def stored(client):
    client.send(commands.StoreOffset("reader", "s", 1))


def test_offsets_and_publishing_ids(operator):
    rows = operator.list("list_stream_tracking", stream="s")
    assert rows == [["offset", "reader", 1, 1], ["writer", "writer", 3, ""]]


@pytest.mark.parametrize(("option", "kinds"), [("offset", ["offset"]), ("writer", ["writer"])])
def test_one_kind_of_them(operator, option, kinds):
    assert [row[0] for row in operator.list("list_stream_tracking", stream="s", **{option: True})] == kinds


def test_one_choice_only(operator):
    with pytest.raises(BadArguments, match="Specify only one of --all, --offset, --writer"):
        operator.ask("list_stream_tracking", stream="s", offset=True, writer=True)
