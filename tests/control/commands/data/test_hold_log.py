def test_it_is_the_daemons_business(operator):
    assert operator.ask("hold_log") is None
    assert operator.daemon.asked == ["hold_log", "let go"]
