"""Definitions, as files have them."""

from io import BytesIO

import pytest

from pybroker.http.call import FORM


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


def test_definitions_are_imported_whole_or_not_at_all(api, world):
    queue = {"name": "q", "durable": True, "auto_delete": False, "arguments": {}}
    assert api.send("POST", "/api/definitions", {"queues": [{**queue, "vhost": "/"}]})[0] == 204
    assert api.send("POST", "/api/definitions/%2F", {"queues": [{**queue, "name": "r"}]})[0] == 204
    assert set(world.vhost.queues) == {"q", "r"}
    both = {"queues": [{**queue, "name": "s", "vhost": "/"}, {**queue, "vhost": "none"}]}
    status, document = api.send("POST", "/api/definitions", both)
    assert (status, document["error"]) == (400, "bad_request")
    assert "virtual host 'none' does not exist" in document["reason"]
    assert "s" not in world.vhost.queues


def test_definitions_come_by_a_form(api, world):
    octets = b'{"queues": [{"name": "q", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {}}]}'
    field = octets.decode().replace('"q"', '"r"')
    for name, form in (("q", {"file": (BytesIO(octets), "d.json")}), ("r", {"file": field})):
        assert api.request("POST", "/api/definitions", data=form, content_type=FORM).status_code == 204
        assert name in world.vhost.queues
    response = api.request("POST", "/api/definitions", data={"other": octets}, content_type=FORM)
    assert (response.status_code, response.get_json()["reason"]) == (400, "failed_to_parse_json")
    assert api.request("PUT", "/api/users/u", data={"file": b"{}"}, content_type=FORM).status_code == 400


def test_definitions_that_are_none(api):
    response = api.request("POST", "/api/definitions", data="nojson")
    assert (response.status_code, response.get_json()["reason"]) == (400, "failed_to_parse_json")
    assert api.send("POST", "/api/definitions", [1])[1]["reason"] == "failed_to_parse_json"
    assert api.send("POST", "/api/definitions", {"queues": 5})[0] == 400
    assert api.send("POST", "/api/definitions", {"queues": ["x" * 600_000]})[1]["reason"].startswith("an item has")
    missing = {"error": "not_found", "reason": "vhost_not_found"}
    assert api.send("POST", "/api/definitions/none", {}) == (404, missing)


def test_a_plan(api, world):
    queue = {"name": "new", "vhost": "/", "durable": True, "auto_delete": False, "arguments": {}}
    status, found = api.send("POST", "/api/pybroker/definitions/plan", {"queues": [queue]})
    assert (status, [(each["action"], each["section"], each["name"]) for each in found]) == (
        200,
        [("create", "queues", "new")],
    )
    assert "new" not in world.vhost.queues
    status, document = api.send("POST", "/api/pybroker/definitions/plan", {"queues": [{**queue, "vhost": "none"}]})
    assert (status, document["error"], len(document["faults"])) == (400, "bad_request", 1)


@pytest.mark.parametrize("path", ["/api/definitions", "/api/definitions/other", "/api/pybroker/definitions/plan"])
def test_only_administrators_may(api, ann, path):
    for user in (ann, "monitoring", "policymaker"):
        expected = {"error": "not_authorised", "reason": "Not administrator user"}
        assert api.send("POST", path, {}, user) == (401, expected)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/queues/%2F/LONG", {}),
        ("PUT", "/api/exchanges/%2F/LONG", {"type": "direct"}),
        ("POST", "/api/bindings/%2F/e/amq.direct/q/q", {"routing_key": "LONG"}),
        ("PUT", "/api/policies/%2F/LONG", {"pattern": "a", "definition": {"max-length": 1}}),
        ("PUT", "/api/operator-policies/%2F/LONG", {"pattern": "a", "definition": {"max-length": 1}}),
        ("PUT", "/api/global-parameters/LONG", {"value": 1}),
        ("PUT", "/api/topic-permissions/%2F/root", {"exchange": "LONG", "write": "", "read": ""}),
    ],
)
def test_nothing_is_made_that_could_not_be_imported_again(api, method, path, body):
    api.send("PUT", "/api/queues/%2F/q", {})
    long = "n" * 256
    given = {name: long if value == "LONG" else value for name, value in body.items()}
    status, document = api.send(method, path.replace("LONG", long), given)
    assert (status, document["reason"].endswith("may have at most 255 octets")) == (400, True), document
