def test_the_listeners_are_opened_only_when_they_are_closed(operator):
    assert operator.ask("start_app") is None
    assert operator.daemon.asked == []
    operator.daemon.app_running = False
    assert operator.ask("start_app") is None
    assert operator.daemon.asked == ["start_app"]
