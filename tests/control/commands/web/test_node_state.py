"""The state of the node, for health checks without a login."""


def test_a_node_that_serves(operator):
    operator.listen(("127.0.0.1", 5672))
    found = operator.ask("node_state")
    assert (found["in_service"], found["protocols"], found["below_connection_limit"]) == (True, ["amqp"], True)


def test_a_node_that_does_not(operator, peer):
    operator.daemon.recovering = 10
    assert operator.ask("node_state")["in_service"] is False
    operator.daemon.recovering, operator.daemon.app_running = None, False
    operator.world.broker.settings.connection_max = 1
    found = operator.ask("node_state")
    assert (found["in_service"], found["below_connection_limit"]) == (False, False)
