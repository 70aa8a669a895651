def test_subscriptions_and_how_far_they_are_behind(operator, client, consume):
    consume("amqp", 1)
    (row,) = operator.list("list_stream_consumers")
    assert row == [client.session.pid, 7, "s", 2, 1, 1, 0, True, "up", []]


def test_members_of_a_group(operator, client):
    for number in (1, 2):
        client.subscribe(subscription_id=number, **{"name": "g", "single-active-consumer": "true"})
    rows = operator.list("list_stream_consumers", "subscription_id", "activity_status", "offset_lag")
    assert rows == [[7, "up", 1], [1, "waiting", ""], [2, "waiting", ""]]
