def test_the_daemon_is_asked(operator):
    assert operator.ask("suspend_listeners") is None
    assert ["suspend_listeners"] == operator.daemon.asked
