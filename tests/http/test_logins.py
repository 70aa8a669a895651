"""The user of each request."""

import base64

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request

from pybroker.http import logins
from pybroker.http.errors import HttpError
from pybroker.http.logins import Failures, Logins
from tests.http.conftest import SETTINGS, Api

SESSION = "/api/pybroker/session"


def test_a_password_is_checked_once_a_minute(api, node, monkeypatch):
    for _ in range(3):
        api.get("/api/whoami")
    assert node.asked.count("login") == 1
    now_s = logins.time.monotonic()
    monkeypatch.setattr(logins.time, "monotonic", lambda: now_s + 61)
    api.get("/api/whoami")
    assert node.asked.count("login") == 2


def test_no_password_is_kept(node):
    found = Logins(node, 100)
    environ = EnvironBuilder(auth=("guest", "guest"), environ_base={"REMOTE_ADDR": "127.0.0.1"}).get_environ()
    identity = found.identify(Request(environ))
    assert identity.name == "guest"
    assert "guest" not in str([each for each in vars(found).values() if not isinstance(each, frozenset)]).replace(
        "name='guest'", ""
    )


def test_without_a_password_nobody_is_let_in(api):
    for user, document in ((None, {}), ("guest:x", {}), ("x", {})):
        response = api.request("GET", "/api/whoami", user, json=document)
        assert response.status_code == 401
        assert response.get_json() == {"error": "not_authorized", "reason": "Login failed"}
        assert response.headers["WWW-Authenticate"] == 'Basic realm="RabbitMQ Management"'


@pytest.mark.parametrize("header", ["Basic", "Basic \xf4", "Basic !", "Basic /w==", "Bearer abc", "", "Basic Og=="])
def test_headers_that_are_none(api, header):
    assert api.request("GET", "/api/whoami", None, headers={"Authorization": header}).status_code == 401


def test_names_and_passwords_may_have_any_character(api, world):
    world.broker.users.add("jürgen", "pä:ß", ("management",))
    header = "basic " + base64.b64encode("jürgen:pä:ß".encode()).decode()
    assert api.get("/api/whoami", None, headers={"Authorization": header})["name"] == "jürgen"


def test_scripts_of_a_page_have_no_dialogue_opened(api):
    response = api.request("GET", "/api/whoami", None, headers={"Sec-Fetch-Dest": "empty"})
    assert (response.status_code, "WWW-Authenticate" in response.headers) == (401, False)


@pytest.mark.parametrize(
    ("address", "host", "is_let_in"),
    [
        ("127.0.0.1", "localhost:15672", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "[::1]:15672", True),
        ("::ffff:127.0.0.1", "localhost", True),
        ("127.0.0.1", "evil.example.org", False),
        ("127.0.0.1", "evil.example.org:15672", False),
        ("10.0.0.1", "localhost", False),
    ],
)
def test_loopback_users_ask_this_machine_from_this_machine(node, address, host, is_let_in):
    response = Api(node, address=address).request("GET", "/api/whoami", headers={"Host": host})
    assert (response.status_code == 200) == is_let_in


def test_ten_failures_a_minute_are_enough(api, node, monkeypatch):
    for _ in range(10):
        api.get("/api/whoami", "x", status=401)
    count = len(node.asked)
    response = api.request("GET", "/api/whoami")
    assert (response.status_code, response.get_json()["error"]) == (429, "too_many_requests")
    assert 0 < int(response.headers["Retry-After"]) <= 60
    assert len(node.asked) == count
    assert Api(node, address="::1").request("GET", "/api/whoami").status_code == 200
    now_s = logins.time.monotonic()
    monkeypatch.setattr(logins.time, "monotonic", lambda: now_s + 61)
    api.get("/api/whoami")


def test_whoever_is_known_is_let_in_while_others_guess(api):
    api.get("/api/whoami")
    for _ in range(11):
        api.get("/api/whoami", "x", status=429 if _ == 10 else 401)
    api.get("/api/whoami")


def test_a_password_that_was_right_is_no_guess(api, world, monkeypatch):
    begin_s = logins.time.monotonic()
    api.get("/api/whoami")
    monkeypatch.setattr(logins.time, "monotonic", lambda: begin_s + 30)
    for _ in range(10):
        api.get("/api/whoami", "x", status=401)
    monkeypatch.setattr(logins.time, "monotonic", lambda: begin_s + 70)
    api.get("/api/whoami")
    world.broker.users.set_tags("guest", ("administrator", "more"))
    api.get("/api/whoami")
    world.broker.users.delete("guest")
    api.get("/api/whoami", status=401)
    api.get("/api/whoami", status=429)


def test_only_so_many_addresses_are_remembered(monkeypatch):
    monkeypatch.setattr(logins, "ADDRESSES_MAX", 2)
    failures = Failures()
    for address in "abc":
        for _ in range(10):
            failures.count(address)
    failures.check("a")
    with pytest.raises(HttpError):
        failures.check("c")


@pytest.mark.parametrize("user", ["guest", None])
@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
)
def test_pages_of_other_sites_change_nothing(api, user, headers):
    response = api.request("DELETE", SESSION, user, headers=headers)
    assert (response.status_code, response.get_json()["error"]) == (403, "forbidden")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost:15672"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://broker.example"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_pages_of_this_site_change_something(api, headers):
    assert api.request("PUT", "/api/vhosts/v", headers=headers).status_code == 201


@pytest.mark.parametrize(("allowed", "status"), [("https://ops.example", 201), ("*", 403)])
def test_pages_of_origins_that_are_named_change_something(node, allowed, status):
    api = Api(node, SETTINGS._replace(origins=(allowed,)))
    headers = {"Origin": "https://ops.example", "Sec-Fetch-Site": "cross-site"}
    assert api.request("PUT", "/api/vhosts/v", headers=headers).status_code == status
