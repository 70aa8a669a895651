def test_groups_and_their_size(operator, world, client):
    single = {"name": "g", "single-active-consumer": "true"}
    operator.ask("add_super_stream", super_stream="x", partitions=2)
    for number in (1, 2):
        client.subscribe(subscription_id=number, **single)
    client.subscribe("x-1", subscription_id=3, **single, **{"super-stream": "x"})
    assert operator.list("list_stream_consumer_groups") == [["s", "g", -1, 2], ["x-1", "g", 1, 1]]
    world.broker.add_vhost("other")
    assert operator.list("list_stream_consumer_groups", vhost="other") == []
