def test_virtual_hosts_run_where_the_node_runs(operator):
    operator.ask("add_vhost", vhost_name="v")
    assert operator.ask("check_virtual_hosts") == "Node pybroker@vm reported all vhosts as running"
