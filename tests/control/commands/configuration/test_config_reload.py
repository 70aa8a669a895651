def test_the_node_reloads_on_behalf_of_the_caller(operator):
    assert operator.ask("config_reload") == {"changed": ["heartbeat"], "message": "done"}
    assert operator.daemon.asked == ["reload by the broker itself"]
