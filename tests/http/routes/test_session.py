"""A person's login, in a cookie."""

from http.cookies import SimpleCookie

import pytest

PATH = "/api/pybroker/session"
CREDENTIALS = {"username": "guest", "password": "guest"}


@pytest.fixture
def token(api):
    response = api.request("POST", PATH, None, json=CREDENTIALS)
    assert response.status_code == 200
    return response.get_json()["csrf_token"]


def cookie(api, base_url="http://localhost"):
    response = api.request("POST", PATH, None, json=CREDENTIALS, base_url=base_url)
    ((name, found),) = SimpleCookie(response.headers["Set-Cookie"]).items()
    return name, found


def test_scripts_and_other_sites_do_not_get_the_cookie(api):
    name, found = cookie(api)
    assert name == "pybroker-session"
    assert (found["httponly"], found["samesite"], found["path"], found["secure"]) == (True, "Strict", "/", "")
    name, found = cookie(api, "https://localhost")
    assert (name, found["secure"], found["domain"]) == ("__Host-pybroker-session", True, "")
    assert "guest" not in found.value
    assert len(found.value) >= 43


def test_the_cookie_stands_for_the_user(api, token):
    assert api.get(PATH, None) == {"name": "guest", "tags": ["administrator"], "csrf_token": token}
    assert api.get("/api/queues", None) == []


def test_without_it_nobody_is_logged_in(api):
    response = api.request("GET", PATH, None, headers={"Sec-Fetch-Dest": "empty"})
    assert (response.status_code, "WWW-Authenticate" in response.headers) == (401, False)
    api.get(PATH, None, status=401, headers={"Cookie": "pybroker-session=guess"})


@pytest.mark.parametrize("given", ["", "x", "ü"])
def test_changes_need_the_token(api, token, given):
    response = api.request("DELETE", PATH, None, headers={"X-CSRF-Token": given} if given else {})
    assert (response.status_code, response.get_json()["error"]) == (403, "forbidden")
    assert api.get(PATH, None)


def test_who_may_not_come_in_has_no_session(api, world):
    world.broker.users.add("bare", "secret")
    response = api.request("POST", PATH, None, json={"username": "bare", "password": "secret"})
    assert (response.status_code, response.get_json()["reason"]) == (401, "Not management user")
    assert "Set-Cookie" not in response.headers


def test_the_end(api, token):
    response = api.request("DELETE", PATH, None, headers={"X-CSRF-Token": token})
    assert response.status_code == 204
    api.get(PATH, None, status=401)


def test_another_password_ends_it(api, token, world):
    world.broker.users.clear_password("guest")
    api.get(PATH, None, status=401)


def test_it_ends_after_half_an_hour_without_use(api, token, world):
    world.advance(1_799_000)
    api.get(PATH, None)
    world.advance(1_801_000)
    api.get(PATH, None, status=401)


@pytest.mark.parametrize("fields", [{}, {"username": "guest"}, {"username": "guest", "password": 1}, []])
def test_bad_fields(api, fields):
    assert api.request("POST", PATH, None, json=fields).status_code == 400


def test_a_wrong_password(api):
    response = api.request("POST", PATH, None, json=CREDENTIALS | {"password": "x"})
    assert response.get_json() == {"error": "not_authorized", "reason": "Login failed"}


def test_pages_of_other_sites_do_not_log_in(api):
    response = api.request("POST", PATH, None, json=CREDENTIALS, headers={"Sec-Fetch-Site": "cross-site"})
    assert response.status_code == 403
