def test_a_node_that_has_read_what_it_had_is_not_booting(operator):
    text = (
        "RabbitMQ on node pybroker@vm is fully booted (check with is_running), stopped or has not started booting yet"
    )
    assert operator.ask("is_booting") == {"result": False, "message": text}


def test_one_that_still_reads_its_log_is(operator):
    operator.daemon.recovering = 40
    text = "RabbitMQ on node pybroker@vm is booting"
    assert operator.ask("is_booting") == {"result": True, "recovered": 40, "message": text}
