"""Connections that users of the HTTP API close."""

import pytest
from pamqp.commands import Connection

from pybroker.control.spec import EX_NOPERM, Refused


@pytest.fixture
def peers(world, ann):
    world.broker.users.add("monitor", "monitor", ("monitoring",))
    ports = {"ann": 40_001, "guest": 40_002}
    return {name: world.connect(user=name, password=name, peer=("127.0.0.1", port)) for name, port in ports.items()}


def closed(peer):
    """Return code and text that a peer was told, if it was."""
    told = [each for each in peer.take(0) if isinstance(each, Connection.Close)]
    return [(each.reply_code, each.reply_text) for each in told]


def test_one_by_its_name(run, peers):
    run("close_clients", name=peers["ann"].session.name, reason="bye")
    assert closed(peers["ann"]) == [(320, "CONNECTION_FORCED - bye")]
    assert closed(peers["guest"]) == []


def test_all_of_a_user(run, peers):
    run("close_clients", username="ann", reason="bye")
    run("close_clients", username="nobody", reason="bye")
    assert (len(closed(peers["ann"])), len(closed(peers["guest"]))) == (1, 0)


def test_users_close_their_own(run, peers):
    run("close_clients", "ann", name=peers["ann"].session.name, reason="bye")
    assert len(closed(peers["ann"])) == 1


@pytest.mark.parametrize("user", ["ann", "monitor"])
def test_only_administrators_close_those_of_others(run, peers, user):
    for more in ({"name": peers["guest"].session.name}, {"username": "guest"}):
        with pytest.raises(Refused, match="User not authorised to access object") as caught:
            run("close_clients", user, reason="bye", **more)
        assert caught.value.exit_code == EX_NOPERM
    assert closed(peers["guest"]) == []


def test_an_unknown_one(run):
    with pytest.raises(Refused) as caught:
        run("close_clients", name="none", reason="bye")
    assert caught.value.facts == {"missing": "connection"}
