def test_there_are_none(operator):
    assert operator.ask("alarms") == {
        "result": "ok",
        "node": "pybroker@vm",
        "alarms": [],
        "message": "Node pybroker@vm reported no alarms, local or clusterwide",
    }
