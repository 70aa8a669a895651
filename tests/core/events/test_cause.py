from types import SimpleNamespace

from pybroker.core.events.cause import Cause, because, by_client


def test_a_client_is_known_by_its_user_and_its_connection():
    session = SimpleNamespace(name="a:1 -> b:2", user=SimpleNamespace(name="ann"))
    assert Cause("client", "ann", "a:1 -> b:2") == by_client(session)
    assert "rmq-internal" == by_client(SimpleNamespace(name="a:1 -> b:2", user=None)).user


def test_what_the_broker_does_has_rabbitmqs_internal_user():
    assert Cause("why", "rmq-internal", "") == because("why")
    assert "a:1 -> b:2" == because("why", SimpleNamespace(name="a:1 -> b:2")).connection
