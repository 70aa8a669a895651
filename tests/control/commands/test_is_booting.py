def test_a_node_that_answers_is_not_booting(operator):
    text = (
        "RabbitMQ on node pybroker@vm is fully booted (check with is_running), stopped or has not started booting yet"
    )
    assert operator.ask("is_booting") == {"result": False, "message": text}
