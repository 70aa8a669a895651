from pybroker.control import commands


def test_a_process_of_its_own_checks(operator):
    assert operator.ask("config_check") == {"message": "done"}
    operator.ask("config_check", config="/etc/p.conf")
    assert operator.tool.asked == [("check_config", None), ("check_config", "/etc/p.conf")]


def test_no_node_is_needed():
    assert commands.load("config_check").offline == "alone"
