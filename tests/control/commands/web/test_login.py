"""Logins over HTTP, which go the way of AMQP's."""

import pytest

from pybroker.control.spec import EX_LOGIN, EX_TEMPFAIL, BadArguments, Refused
from pybroker.core.auth import login as logins
from pybroker.core.auth.login import Verdict


def log_in(operator, name="guest", password="guest", **more):
    return operator.ask("login", username=name, password=password, address="10.0.0.7", port=40_000, **more)


def test_the_right_password_begins_a_session(operator):
    found = log_in(operator, local=True)
    assert (found["name"], found["tags"]) == ("guest", ["administrator"])
    assert operator.daemon.web_sessions.find(found["session"]).name == "guest"
    assert operator.world.broker.logins.succeeded == 1


@pytest.mark.parametrize(("name", "password"), [("guest", "x"), ("nobody", "guest"), ("guest", "")])
def test_nobody_else_is_let_in(operator, caplog, name, password):
    with pytest.raises(Refused, match="Login failed") as caught:
        log_in(operator, name, password, local=True)
    assert caught.value.exit_code == EX_LOGIN
    assert operator.world.broker.logins.failed == 1
    assert f"HTTP login refused: user '{name}' - " in caplog.text


def test_loopback_users_have_to_be_on_this_machine(operator, caplog):
    with pytest.raises(Refused, match="Login failed"):
        log_in(operator)
    assert "user 'guest' - can only connect via localhost (connection 10.0.0.7:40000)" in caplog.text
    operator.world.broker.settings.loopback_users = frozenset()
    assert log_in(operator)["name"] == "guest"


def test_refusals_are_told_to_the_audit_log(operator):
    told = []
    operator.world.broker.events.add_receiver(lambda name, facts, *_: told.append((name, facts)))
    with pytest.raises(Refused):
        log_in(operator, "guest", "x")
    ((name, facts),) = told
    assert (name, facts["peer_host"], facts["protocol"], facts["auth_mechanism"]) == (
        "user.authentication.failure",
        "{10,0,0,7}",
        "HTTP",
        "HTTP",
    )


def test_too_many_wait_already(operator, monkeypatch):
    busy = Verdict(None, logins.BUSY, busy=True)
    monkeypatch.setattr(logins.Logins, "check", lambda _self, _name, _password, _peer, _wanted, done: done(busy))
    with pytest.raises(Refused) as caught:
        log_in(operator)
    assert (caught.value.exit_code, caught.value.text) == (EX_TEMPFAIL, logins.BUSY)


@pytest.mark.parametrize("more", [{"idle_s": 0}, {"life_s": -1}, {"idle_s": 10**9}])
def test_times_have_bounds(operator, more):
    with pytest.raises(BadArguments):
        log_in(operator, **more)
