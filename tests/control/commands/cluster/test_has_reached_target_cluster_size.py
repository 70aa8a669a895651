def test_one_node_is_all_there_can_be(operator):
    told = operator.ask("has_reached_target_cluster_size")
    assert "Target cluster size has been reached on node pybroker@vm" == told
