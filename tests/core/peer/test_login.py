"""The steps of a login that all protocols share."""

from pybroker.core.auth.login import Verdict
from pybroker.core.peer import login


class Peer:
    """A peer whose login is being checked."""

    def __init__(self, world):
        self.session = world.connect().session
        self.waits = True
        self.heard = []

    def check(self, name, password):
        login.check_login(self.session, "PLAIN", (name, password), lambda: self.waits, self.done)

    def done(self, name, verdict):
        self.heard.append((name, verdict.user and verdict.user.name))


def test_a_refusal_is_answered_late_and_nobody_knows_when(world, peer):
    times = {login.refusal_at_ms(peer.session) - world.clock.now_ms for _ in range(100)}
    assert len(times) > 50
    assert all(login.REFUSAL_MS_MIN <= each < login.REFUSAL_MS_MAX for each in times)


def test_a_user_is_named_and_nobody_else(world):
    one = Peer(world)
    one.check("guest", "guest")
    one.check("guest", "wrong")
    assert one.heard == [("guest", "guest"), ("guest", None)]


def test_a_peer_that_does_not_wait_hears_nothing_and_is_no_refused_login(world, caplog):
    one = Peer(world)
    one.waits = False
    one.check("guest", "wrong")
    assert one.heard == []
    assert "refused" not in caplog.text


def test_a_certificate_needs_no_password(world, monkeypatch):
    one = Peer(world)
    verdict = Verdict(one.session.user)
    monkeypatch.setattr(type(world.broker.logins), "check_certificate", lambda *_: ("guest", verdict))
    login.check_login(one.session, "EXTERNAL", ("", ""), lambda: True, one.done)
    assert one.heard == [("guest", "guest")]


def test_what_is_said_of_ourselves_is_made_once():
    told = login.server_properties("RabbitMQ", "here")
    assert told is login.server_properties("RabbitMQ", "here")
    assert (told["product"], told["cluster_name"]) == ("RabbitMQ", "here")
    assert told["pybroker_version"] in told["platform"]
