"""The cluster: its name, and leaders that are where they should be."""

import pytest


def test_the_name_of_the_cluster(api, world):
    assert api.send("PUT", "/api/cluster-name", {"name": "c"})[0] == 204
    assert world.broker.settings.cluster_name == "c"
    assert api.get("/api/cluster-name") == {"name": "c"}
    assert api.send("PUT", "/api/cluster-name", {})[1]["reason"] == "[{key_missing,name}]"
    assert api.send("PUT", "/api/cluster-name", {"name": ""})[0] == 400


def test_queues_are_where_they_should_be(api):
    assert api.send("POST", "/api/rebalance/queues")[0] == 204


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/cluster-name"),
        ("POST", "/api/rebalance/queues"),
    ],
)
def test_only_administrators_may(api, ann, method, path):
    for user in (ann, "monitoring", "policymaker"):
        expected = {"error": "not_authorised", "reason": "Not administrator user"}
        assert api.send(method, path, {}, user) == (401, expected)
