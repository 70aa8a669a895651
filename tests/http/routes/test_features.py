"""Feature flags, deprecated features, and plugins that are not there."""

import pytest


def test_flags(api):
    flag = api.get("/api/feature-flags")[0]
    assert flag.keys() == {"name", "state", "stability", "provided_by", "desc", "doc_url"}
    assert flag["state"] == "enabled"


def test_flags_are_enabled_for_good(api, ann):
    assert api.send("PUT", "/api/feature-flags/implicit_default_bindings/enable")[0] == 204
    assert api.send("PUT", "/api/feature-flags/none/enable")[0] == 400
    assert api.send("PUT", "/api/feature-flags/none/enable", {}, ann)[0] == 401


def test_deprecated_features(api, peer):
    assert api.get("/api/deprecated-features/used") == []
    peer.declare("q")
    assert [each["name"] for each in api.get("/api/deprecated-features/used")] == ["transient_nonexcl_queues"]
    assert len(api.get("/api/deprecated-features")) == 2


@pytest.mark.parametrize("path", ["shovels", "federation-links"])
def test_nothing_of_plugins(api, ann, path):
    assert api.get(f"/api/{path}", "ann") == []
    assert api.get(f"/api/{path}/other", "ann") == []
    api.get(f"/api/{path}/%2F", "ann", status=401)
    api.get(f"/api/{path}/none", status=404)
