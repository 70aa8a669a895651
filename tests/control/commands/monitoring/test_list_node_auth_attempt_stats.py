import pytest


def test_logins_are_counted_by_how_they_ended(operator, world):
    assert operator.list("list_node_auth_attempt_stats") == [["amqp091", 0, 0, 0]]
    world.connect()
    world.connect()
    with pytest.raises(AssertionError):
        world.connect(password="wrong")
    assert operator.list("list_node_auth_attempt_stats") == [["amqp091", 3, 1, 2]]
    # An operator's trial is no login.
    operator.ask("authenticate_user", username="guest", password="guest")
    assert operator.list("list_node_auth_attempt_stats") == [["amqp091", 3, 1, 2]]
