def test_there_are_none(operator):
    assert operator.ask("check_alarms") == "Node pybroker@vm reported no alarms, local or clusterwide"
