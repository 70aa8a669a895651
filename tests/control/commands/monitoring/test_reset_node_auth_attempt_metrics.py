def test_logins_are_counted_from_zero(operator, world):
    world.connect()
    assert operator.ask("reset_node_auth_attempt_metrics") is None
    assert operator.list("list_node_auth_attempt_stats") == [["amqp091", 0, 0, 0]]
    world.connect()
    assert operator.list("list_node_auth_attempt_stats") == [["amqp091", 1, 0, 1]]
