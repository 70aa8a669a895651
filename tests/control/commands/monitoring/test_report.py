from pybroker.control import commands


def test_every_virtual_host_has_its_listings_with_all_columns(operator):
    operator.ask("add_vhost", vhost_name="v")
    calls = operator.ask("report")["calls"]
    assert [name for name, _ in calls[:3]] == ["status", "cluster_status", "environment"]
    queues = [given for name, given in calls if name == "list_queues"]
    assert [given["vhost"] for given in queues] == ["/", "v"]
    assert queues[0]["columns"] == [column.name for column in commands.load("list_queues").columns]


def test_every_call_is_one_that_the_node_takes(operator):
    for name, given in operator.ask("report")["calls"]:
        command = commands.load(name)
        command.parse(given)
        assert command.effect == "read"
