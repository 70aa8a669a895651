"""Advisories about RabbitMQ's management interface that are about all routes; others stand at their route's test.

CVE-2026-66077, -57213, -67421 (names as HTML): interface/test_pages.py and interface/test_sources.py. CVE-2026-67236,
CVE-2017-4966 (the password in the browser): interface/test_sources.py and routes/test_session.py. CVE-2026-66070
(CORS): test_browsers.py. CVE-2026-67405 (WebSockets): door/test_server.py. CVE-2026-67404 is about tokens of OAuth 2,
which nothing here reads.
"""

import pytest

from pybroker.http.route import NO_LOGIN
from pybroker.http.routes import ROUTES

MARK = "confidential"
PARTS = {"<vhost>": "%2F", "<component>": "operator_policy", "<kind>": "q", "<user>": "guest", "<port>": "5672"}
PARTS |= {"<within>": "1", "<unit>": "days", "<protocols>": "amqp"}


@pytest.fixture
def secrets(api, peer):
    """Names in the virtual host that `ann` may not enter."""
    peer.declare(MARK)
    peer.publish("", MARK, b"x")
    peer.consume(MARK)
    api.send("PUT", f"/api/policies/%2F/{MARK}", {"pattern": MARK, "definition": {"max-length": 100}})
    return peer


def paths(tag=None):
    for route in ROUTES:
        if route.method == "GET" and (tag is None or route.tag == tag):
            path = route.path
            for part, value in PARTS.items():
                path = path.replace(part, value)
            while "<" in path:
                head, _, rest = path.partition("<")
                path = head + MARK + rest.partition(">")[2]
            yield path


def test_nobody_is_told_of_virtual_hosts_of_others(api, ann, secrets):
    # CVE-2026-66076.
    assert MARK in api.request("GET", "/api/queues").text
    for path in paths():
        response = api.request("GET", path, ann)
        text = response.text if response.status_code == 200 else ""
        assert MARK not in text.replace(path, ""), path
    overview = api.get("/api/overview", ann)
    assert overview["queue_totals"].get("messages", 0) == 0
    assert not any(overview["message_stats"].get(name) for name in ("publish", "deliver_get"))
    assert [each["name"] for each in api.get("/api/vhosts", ann)] == ["other"]


def test_strangers_are_told_of_states_and_versions_alone(api, secrets):
    # CVE-2026-57219: it told strangers the secret of an OAuth 2 client.
    open_paths = set(paths(NO_LOGIN))
    assert open_paths == {
        *("/api/version", "/api/auth", "/livez", "/readyz"),
        *(f"/api/health/checks/{name}" for name in ("is-in-service", "ready-to-serve-clients")),
        *(f"/api/health/checks/{name}" for name in ("below-node-connection-limit", "reached-target-cluster-size")),
    }
    assert not any(api.get("/api/auth", None).values())
    for path in set(paths()) - open_paths:
        assert api.request("GET", path, None).status_code == 401, path
