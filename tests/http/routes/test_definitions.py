"""Definitions, as files have them."""

import pytest


def test_all_definitions(api, ann, peer, node):
    peer.declare("q", durable=True)
    document = api.get("/api/definitions")
    assert document == api.get("/api/all-configuration")
    assert [each["name"] for each in document["queues"]] == ["q"]
    assert {each["name"] for each in document["users"]} >= {"guest", "ann"}
    assert document["policies"] == []
    assert document["rabbitmq_version"]


def test_those_of_a_virtual_host(api, ann, peer):
    peer.declare("q", durable=True)
    document = api.get("/api/definitions/%2F")
    assert document["queues"] == [
        {"name": "q", "type": "classic", "durable": True, "auto_delete": False, "arguments": {}}
    ]
    assert "users" not in document
    assert api.get("/api/definitions/other")["queues"] == []
    api.get("/api/definitions/none", status=404)


@pytest.mark.parametrize(("name", "safe"), [("a b.json", "a_b.json"), ('x"\r\nSet-Cookie: a', "x___Set-Cookie__a")])
def test_a_browser_saves_them_under_a_name(api, name, safe):
    from urllib.parse import quote

    response = api.request("GET", f"/api/definitions?download={quote(name)}")
    assert response.headers["Content-Disposition"] == f'attachment; filename="{safe}"'
    assert "Set-Cookie" not in response.headers
