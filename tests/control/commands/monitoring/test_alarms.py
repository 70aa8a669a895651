def test_there_are_none(operator):
    assert operator.ask("alarms") == {
        "result": "ok",
        "node": "pybroker@vm",
        "alarms": [],
        "notices": [],
        "message": "Node pybroker@vm reported no alarms, local or clusterwide",
    }


def test_what_is_short_and_what_the_operator_must_know_are_told(operator):
    operator.world.broker.alarms.set("disk", "the disk is full")
    operator.world.broker.notices.append("something was restored")
    operator.world.clock.advance(192_000)
    answer = operator.ask("alarms")
    told = "Free disk space alarm on node pybroker@vm: the disk is full"
    status = operator.ask("status")
    # As scripts for RabbitMQ read them.
    assert [{"type": "resource_limit", "resource": "disk", "node": "pybroker@vm"}] == status["alarms"]
    assert ["something was restored"] == status["notices"]
    assert (
        f"Node pybroker@vm reported the following alarms:\n{told} (for 3 min 12 s)\nsomething was restored"
        == answer["message"]
    )


def test_programs_get_what_an_alarm_is_made_of_and_rabbitmqs_keys(operator):
    broker, clock = operator.world.broker, operator.world.clock
    since = clock.timestamp_ms
    broker.alarms.set("memory", "2 MB used, 1 MB allowed")
    broker.alarms.set("disk", "no room", "pybroker@other")
    clock.advance(1_500)
    answer = operator.ask("alarms")
    memory, disk = answer["alarms"]
    assert {
        "resource": "memory",
        "node": "pybroker@vm",
        "local": True,
        "why": "2 MB used, 1 MB allowed",
        "since": since,
        "seconds": 1.5,
        "message": "Memory alarm on node pybroker@vm: 2 MB used, 1 MB allowed (for 1.5 s)",
    } == memory
    assert ("disk", "pybroker@other", False) == (disk["resource"], disk["node"], disk["local"])
    assert ["Memory alarm on node pybroker@vm: 2 MB used, 1 MB allowed"] == answer["local"]
    assert ["Free disk space alarm on node pybroker@other: no room"] == answer["global"]
    assert operator.ask("status")["resource_alarms"] == answer["alarms"]
