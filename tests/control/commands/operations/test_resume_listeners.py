def test_the_daemon_is_asked(operator):
    assert operator.ask("resume_listeners") is None
    assert ["resume_listeners"] == operator.daemon.asked
