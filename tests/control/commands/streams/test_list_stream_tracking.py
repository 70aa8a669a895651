import pytest

from pybroker.control.spec import BadArguments, Refused
from pybroker.wire.stream import commands


@pytest.fixture(autouse=True)
def stored(client):
    client.send(commands.StoreOffset("reader", "s", 1))


def test_offsets_and_publishing_ids(operator):
    rows = operator.list("list_stream_tracking", stream="s")
    assert rows == [["offset", "reader", 1, 1], ["writer", "writer", 3, ""]]


@pytest.mark.parametrize(
    ("option", "kinds"), [("offset", ["offset"]), ("writer", ["writer"]), ("everything", ["offset", "writer"])]
)
def test_one_kind_of_them(operator, option, kinds):
    assert [row[0] for row in operator.list("list_stream_tracking", stream="s", **{option: True})] == kinds


def test_one_choice_only(operator):
    with pytest.raises(BadArguments, match="Specify only one of --all, --offset, --writer"):
        operator.ask("list_stream_tracking", stream="s", offset=True, writer=True)


def test_a_stream_that_is_deleted_meanwhile_is_told_of(operator, world, monkeypatch):
    stream = world.vhost.queues["s"]
    monkeypatch.setattr(type(stream.tracking), "when_ready", lambda *_: world.vhost.delete_queue(stream))
    with pytest.raises(Refused, match="stream 's' was deleted"):
        operator.list("list_stream_tracking", stream="s")
