def test_a_stopped_app_is_not_stopped_again(operator):
    assert operator.ask("stop_app") is None
    assert operator.ask("stop_app") is None
    assert operator.daemon.asked == ["stop_app"]
