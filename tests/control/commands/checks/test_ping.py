def test_ping_answers_also_while_the_app_is_stopped(operator):
    operator.daemon.app_running = False
    assert operator.ask("ping") == "Ping succeeded"
