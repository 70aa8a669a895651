def test_there_are_none(operator):
    assert operator.ask("alarms") == {
        "result": "ok",
        "node": "pybroker@vm",
        "alarms": [],
        "message": "Node pybroker@vm reported no alarms, local or clusterwide",
    }


def test_what_is_short_and_what_the_operator_must_know_are_told(operator):
    operator.world.broker.alarms.set("disk", "the disk is full")
    operator.world.broker.notices.append("something was restored")
    answer = operator.ask("alarms")
    told = "Free disk space alarm on node pybroker@vm: the disk is full"
    assert [told, "something was restored"] == answer["alarms"] == operator.ask("status")["alarms"]
    assert f"Node pybroker@vm reported the following alarms:\n{told}\nsomething was restored" == answer["message"]
