"""Figures of the node."""

from pybroker.core.stats.metrics import NODE


def test_the_node_tells_all_its_metrics(operator, two):
    document = operator.ask("node_figures")
    assert document["figures"].keys() == NODE.keys()
    assert (document["node"], document["virtual_hosts"]) == ("pybroker@vm", ["/", "other"])
    assert (document["figures"]["publish"], document["figures"]["connections"]) == (4, 1)
    assert document["message_sizes"]["counts"][:4] == [2, 1, 0, 1]
    assert document["message_sizes"]["octets"] == 70_251
    assert (document["alarms"], document["memory"]) == ([], None)
    assert 0 < document["files"] < document["files_max"]


def test_where_the_memory_is_is_told_on_demand(operator):
    memory = operator.ask("node_figures", memory=True)["memory"]
    assert sum(one["bytes"] for one in memory.values()) == operator.daemon.memory[0]
