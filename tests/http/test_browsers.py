"""Headers for browsers."""

import pytest

from tests.http.conftest import SETTINGS, Api

ORIGIN = "https://example.org"


@pytest.mark.parametrize("path", ["/", "/api/whoami", "/api/nope"])
def test_pages_may_do_nothing_but_what_ours_need(api, path):
    headers = api.request("GET", path).headers
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert (headers["X-Content-Type-Options"], headers["Referrer-Policy"]) == ("nosniff", "no-referrer")
    assert "Strict-Transport-Security" not in headers


def shared(node, origins, origin=ORIGIN, method="GET"):
    api = Api(node, SETTINGS._replace(origins=origins))
    headers = api.request(method, "/api/whoami", headers={"Origin": origin}).headers
    return {name: value for name, value in headers.items() if name.startswith("Access-Control-")}


def test_no_other_site_may_read_without_being_named(node):
    assert shared(node, ()) == {}
    assert shared(node, (ORIGIN,), "https://example.org.evil.org") == {}
    assert shared(node, (ORIGIN,), "null") == {}


def test_a_named_one_may(node):
    found = shared(node, ("https://a", ORIGIN), method="OPTIONS")
    assert found["Access-Control-Allow-Origin"] == ORIGIN
    assert found["Access-Control-Allow-Credentials"] == "true"
    assert found["Access-Control-Max-Age"] == "1800"
    assert "authorization" in found["Access-Control-Allow-Headers"]


def test_any_site_may_without_credentials(node):
    # RabbitMQ's advisory CVE-2026-66070: it reflected the origin of anybody, with credentials.
    found = shared(node, ("*",))
    assert found["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in found


def test_caches_are_told_that_answers_differ(node):
    response = Api(node, SETTINGS._replace(origins=(ORIGIN,))).request("GET", "/api/whoami")
    assert "Origin" in response.headers["Vary"]


def test_transport_security_is_for_https(node):
    api = Api(node, SETTINGS._replace(transport_policy="max-age=1000"))
    assert "Strict-Transport-Security" not in api.request("GET", "/").headers
    headers = api.request("GET", "/", base_url="https://localhost/").headers
    assert headers["Strict-Transport-Security"] == "max-age=1000"
