from pybroker.wire.stream import commands


def test_offsets_of_consumers_that_have_gone(operator, client):
    client.create("t")
    client.send(commands.StoreOffset("spark", "t", 9), commands.StoreOffset("b", "s", 2))
    client.send(commands.StoreOffset("a", "s", 0))
    client.disconnect()
    assert operator.list("list_stream_offsets") == [["s", "a", 0, 2], ["s", "b", 2, 0], ["t", "spark", 9, 0]]


def test_a_stream_that_is_deleted_meanwhile_has_none(operator, world, client, monkeypatch):
    client.send(commands.StoreOffset("a", "s", 0))
    stream = world.vhost.queues["s"]
    monkeypatch.setattr(type(stream.tracking), "when_ready", lambda *_: world.vhost.delete_queue(stream))
    assert operator.list("list_stream_offsets") == []
