def test_only_connections_of_the_stream_protocol_are_listed(operator, peer, client):
    rows = operator.list("list_stream_connections", "conn_name", "user", "heartbeat", "publishers", "subscriptions")
    assert rows == [["127.0.0.1:40000 -> 127.0.0.1:5552", "guest", 0, 2, 1]]
    assert operator.list("list_stream_connections")[0][1:3] == ["guest", "running"]
