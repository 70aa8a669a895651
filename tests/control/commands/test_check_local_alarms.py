def test_there_are_none(operator):
    assert operator.ask("check_local_alarms") == "Node pybroker@vm reported no local alarms"
