def test_the_cluster_is_this_node(operator):
    operator.listen(("::", 5672))
    document = operator.ask("cluster_status")
    name = "pybroker@vm"
    assert document["disk_nodes"] == document["running_nodes"] == [name]
    assert document["ram_nodes"] == document["alarms"] == []
    assert "virtual_host_metadata" in [flag["name"] for flag in document["feature_flags"]]
    assert document["partitions"] == {}
    assert document["maintenance_status"] == {name: "not under maintenance"}
    assert document["versions"][name]["rabbitmq_name"] == "pybroker"
    assert document["listeners"][name][0]["port"] == 5672
    assert document["cpu_cores"][name] >= 1
