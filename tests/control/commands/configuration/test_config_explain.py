def test_the_node_explains(operator):
    assert operator.ask("config_explain", key="heartbeat") == {"key": "heartbeat", "message": "60"}
