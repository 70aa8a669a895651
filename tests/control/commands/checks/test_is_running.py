def test_it_succeeds_either_way(operator):
    assert operator.ask("is_running") == {
        "result": True,
        "message": "RabbitMQ on node pybroker@vm is fully booted and running",
    }
    operator.daemon.app_running = False
    assert operator.ask("is_running") == {
        "result": False,
        "message": "RabbitMQ on node pybroker@vm is not running or has not fully booted yet (check with is_booting)",
    }
