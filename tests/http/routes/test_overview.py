"""The overview, in RabbitMQ's shape."""

RABBITMQ = {
    *("churn_rates", "cluster_name", "contexts", "disable_stats", "enable_queue_totals", "erlang_full_version"),
    *("erlang_version", "exchange_types", "listeners", "management_version", "message_stats", "node"),
    *("object_totals", "product_name", "product_version", "queue_totals", "rabbitmq_version", "rates_mode"),
    *("statistics_db_event_queue",),
}


def test_the_overview(api, node, peer):
    node.operator.listen(("127.0.0.1", 5672))
    peer.declare("q")
    peer.publish("", "q", b"x")
    document = api.get("/api/overview")
    assert document.keys() == RABBITMQ
    assert document["object_totals"]["queues"] == 1
    assert document["message_stats"]["publish"] == 1
    assert document["churn_rates"]["queue_created"] == 1
    assert [(each["protocol"], each["port"]) for each in document["listeners"]] == [("amqp", 5672), ("http", 15_672)]
    assert document["contexts"][0]["port"] == "15672"
    direct = document["exchange_types"][0]
    assert direct["description"] == "AMQP direct exchange, as per the AMQP specification"


def test_those_who_see_little_see_no_churn(api, ann):
    assert api.get("/api/overview", "ann")["churn_rates"] == {}


def test_versions_and_names(api, node):
    assert api.get("/api/version", None) == api.get("/api/overview")["rabbitmq_version"]
    assert api.get("/api/auth", None)["oauth_enabled"] is False
    assert api.get("/api/extensions") == [{"javascript": "main.js"}]
