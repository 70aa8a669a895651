def test_each_difference_is_a_row(operator):
    assert operator.list("config_diff") == [["heartbeat", "60", "20", "reload", "/etc/pybroker/pybroker.conf:3"]]
    assert operator.daemon.asked == ["difference"]


def test_all_keys_are_listed_if_they_are_asked_for(operator):
    operator.list("config_diff", all=True)
    assert operator.daemon.asked == ["difference of everything"]


def test_the_source_of_both_values_can_be_shown(operator):
    assert operator.list("config_diff", "key", "running_source") == [["heartbeat", "default"]]
