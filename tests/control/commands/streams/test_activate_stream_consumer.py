from tests.stream_peer import StreamPeer

SINGLE = {"name": "g", "single-active-consumer": "true", "super-stream": "x"}
GROUP = {"stream": "x-1", "reference": "g"}


def test_the_next_one_begins_though_the_one_before_has_not_answered(operator, world, client):
    operator.ask("add_super_stream", super_stream="x", partitions=2)
    client.subscribe("x-1", subscription_id=1, **SINGLE)
    assert operator.ask("activate_stream_consumer", **GROUP).endswith("it waits for nobody")
    other = StreamPeer(world)
    other.subscribe("x-1", subscription_id=2, **SINGLE)
    states = [row[2] for row in operator.list("list_stream_group_consumers", **GROUP)]
    assert states == ["stepping_down", "inactive"]
    assert "a consumer was activated" in operator.ask("activate_stream_consumer", **GROUP)
    states = [row[2] for row in operator.list("list_stream_group_consumers", **GROUP)]
    assert states == ["inactive", "active"]
    assert len(other.take(26)) == 1
