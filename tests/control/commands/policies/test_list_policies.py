def test_the_one_that_counts_before_all_others_is_last(operator):
    assert [] == operator.list("list_policies")
    operator.ask("set_policy", name="p", pattern="^q", definition='{"max-length":1,"expires":5}', priority=3)
    operator.ask("set_policy", name="a", pattern="x", definition='{"message-ttl":10}', apply_to="quorum_queues")
    assert [
        ["/", "a", "x", "quorum_queues", '{"message-ttl":10}', 0],
        ["/", "p", "^q", "all", '{"expires":5,"max-length":1}', 3],
    ] == operator.list("list_policies", vhost="/")


def test_those_of_other_virtual_hosts_are_not_listed(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("set_policy", name="p", pattern="", definition='{"max-length":1}', vhost="v")
    assert ([], 1) == (operator.list("list_policies"), len(operator.list("list_policies", vhost="v")))
