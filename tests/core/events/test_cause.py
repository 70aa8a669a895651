from types import SimpleNamespace

from pybroker.core.events.cause import ASKED, BROKER, Cause, because, by_client
from tests.fakes import World


def test_a_client_is_known_by_its_user_and_its_connection():
    session = SimpleNamespace(name="a:1 -> b:2", user=SimpleNamespace(name="ann"))
    assert Cause("client", "ann", "a:1 -> b:2") == by_client(session)
    assert "rmq-internal" == by_client(SimpleNamespace(name="a:1 -> b:2", user=None)).user


def test_what_the_broker_does_has_rabbitmqs_internal_user():
    assert Cause("why", "rmq-internal", "") == because("why")
    assert "a:1 -> b:2" == because("why", SimpleNamespace(name="a:1 -> b:2")).connection


def test_who_asks_is_the_client_at_work_else_the_context_else_the_broker():
    world = World()
    events = world.broker.events
    assert events.cause() == BROKER
    peer = world.connect()
    token = ASKED.set(Cause("command x", "rmq-cli", "uid 0 (pid 1)"))
    assert "command x" == events.cause().why
    events.acting = peer.session
    assert "client" == events.cause().why
    events.taking_along = because("expired")
    assert "expired" == events.cause().why
    ASKED.reset(token)
