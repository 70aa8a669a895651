"""Requests find their routes, their users, and answers."""

import gzip
import json

import pytest

from pybroker.http.application import STRANGER_OCTETS_MAX
from pybroker.http.node import Unavailable
from tests.http.conftest import SETTINGS, Api


def test_columns_of_one_object(api):
    assert api.get("/api/exchanges/%2F/amq.topic?columns=name,vhost,none") == {"name": "amq.topic", "vhost": "/"}
    assert api.get("/api/exchanges?columns=name&page=1&page_size=1")["items"] == [{"name": ""}]


def test_an_answer_is_json_that_nobody_keeps(api):
    response = api.request("GET", "/api/whoami")
    assert response.get_json() == {"name": "guest", "tags": ["administrator"], "is_internal_user": True}
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-store"


def test_names_with_any_character_are_parts_of_a_path(api, world):
    world.broker.users.add("a/b %ü", "")
    assert api.get("/api/users/a%2Fb%20%25%C3%BC")["name"] == "a/b %ü"
    assert api.get("/api/queues/%2F/") == []
    api.get("/api/queues///q", status=404)
    api.get("/api/queues/%2F/%ff", status=404)
    api.get("/api/queues/%/q", status=404)


@pytest.mark.parametrize("path", ["/api/nope", "/api", "/nope", "/api/queues/a/b/c/d"])
def test_unknown_paths(api, path):
    assert api.get(path, user=None, status=404) == {"error": "Object Not Found", "reason": "Not Found"}


def test_methods(api):
    response = api.request("PATCH", "/api/queues", user=None)
    assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    response = api.request("OPTIONS", "/api/queues/%2F/q", user=None)
    assert response.status_code == 200
    assert {"GET", "HEAD", "OPTIONS"} <= set(response.headers["Allow"].split(", "))
    assert api.request("OPTIONS", "/api/nope", user=None).status_code == 404
    response = api.request("HEAD", "/api/whoami")
    assert (response.status_code, response.data) == (200, b"")


@pytest.mark.parametrize(
    ("path", "user", "reason"),
    [
        ("/api/whoami", "none", "Not management user"),
        ("/api/users", "none", "Not management user"),
        ("/api/users", "ann", "Not administrator user"),
        ("/api/users", "monitoring", "Not administrator user"),
        ("/api/vhosts/other", "ann", "Not administrator user"),
        ("/api/vhosts/other/permissions", "monitoring", "Not administrator user"),
        ("/api/permissions", "policymaker", "Not administrator user"),
        ("/api/topic-permissions", "policymaker", "Not administrator user"),
        ("/api/parameters", "ann", "User not authorised to access object"),
        ("/api/global-parameters", "monitoring", "User not authorised to access object"),
        ("/api/queues/%2F", "ann", "User not authorised to access virtual host"),
        ("/api/queues/%2F/q", "ann", "User not authorised to access virtual host"),
        ("/api/queues/none", "ann", "User not authorised to access virtual host"),
        ("/api/exchanges/%2F/amq.topic/bindings/source", "ann", "User not authorised to access virtual host"),
        ("/api/consumers/%2F", "policymaker", "User not authorised to access virtual host"),
    ],
)
def test_tags_and_virtual_hosts_decide(api, ann, path, user, reason):
    assert api.get(path, user, status=401) == {"error": "not_authorised", "reason": reason}


def test_users_see_what_is_theirs(api, ann, world):
    world.connect(user="ann", password="ann", vhost="other").declare("theirs")
    world.connect().declare("others")
    assert [each["name"] for each in api.get("/api/queues", "ann")] == ["theirs"]
    assert [each["name"] for each in api.get("/api/queues", "monitoring")] == ["others", "theirs"]
    assert [each["user"] for each in api.get("/api/connections", "ann")] == ["ann"]
    assert len(api.get("/api/channels", "monitoring")) == 2
    assert [each["name"] for each in api.get("/api/vhosts", "ann")] == ["other"]
    assert {each["vhost"] for each in api.get("/api/bindings", "ann")} == {"other"}
    assert {each["vhost"] for each in api.get("/api/exchanges", "ann")} == {"other"}


def test_whoever_is_in_may_not_see_the_connections_of_others(api, ann, peer):
    name = api.get("/api/connections")[0]["name"].replace(" ", "%20").replace(">", "%3E")
    for path in (f"/api/connections/{name}", f"/api/connections/{name}/channels", f"/api/channels/{name}%20(1)"):
        api.get(path, "ann", status=404)
        assert api.get(path)


def test_long_answers_are_compressed(api):
    response = api.request("GET", "/api/exchanges", headers={"Accept-Encoding": "gzip"})
    assert (response.headers["Content-Encoding"], response.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert len(json.loads(gzip.decompress(response.data))) == 8


def test_an_answer_that_is_known_is_not_sent_again(api):
    etag = api.request("GET", "/api/exchanges").headers["ETag"]
    response = api.request("GET", "/api/exchanges", headers={"If-None-Match": etag})
    assert (response.status_code, response.data) == (304, b"")


def test_large_bodies_are_refused(node):
    api = Api(node, SETTINGS._replace(body_octets_max=100))
    response = api.request("PUT", "/api/queues/%2F/q", data=b"x" * 101)
    reason = "the body of the request has more than 100 octets"
    assert (response.status_code, response.get_json()) == (413, {"error": "bad_request", "reason": reason})


def test_strangers_send_less(api):
    for size, status in ((STRANGER_OCTETS_MAX, 400), (STRANGER_OCTETS_MAX + 1, 413)):
        assert api.request("POST", "/api/pybroker/session", user=None, data=b"x" * size).status_code == status


def test_without_a_node_it_says_so(api, node):
    node.failure = Unavailable("no node answers on /run/x.web")
    assert api.get("/api/whoami", status=503)["reason"] == "no node answers on /run/x.web"


def test_while_the_node_starts_it_says_so(api, node):
    assert api.get("/api/queues") == []
    node.operator.daemon.recovering = 17
    assert "recovering its messages, 17 %" in api.get("/api/queues", status=503)["reason"]


def test_a_fault_of_ours_is_told_and_hidden_from_the_client(api, node, capsys):
    node.failure = KeyError("secret")
    assert "secret" not in str(api.get("/api/whoami", status=500))
    assert "KeyError: 'secret'" in capsys.readouterr().err


def test_phrases_are_those_of_the_standard(api):
    assert api.request("GET", "/api/whoami", None).status == "401 Unauthorized"
    assert api.request("GET", "/api/none").status == "404 Not Found"
