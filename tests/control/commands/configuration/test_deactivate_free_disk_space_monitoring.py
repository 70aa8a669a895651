from pybroker.control import commands


def test_d10_the_alarm_is_cleared_and_status_says_that_nobody_watches(operator):
    broker = operator.world.broker
    operator.daemon.watch_disk(on=True)
    operator.ask("set_disk_free_limit", limit="100GB")
    assert ("disk" in broker.alarms, operator.ask("status")["disk_free_monitoring"]) == (True, True)
    text = operator.ask("deactivate_free_disk_space_monitoring")
    assert "Disk space monitoring is deactivated until it is activated again or the node restarts" == text
    assert ("disk" in broker.alarms, operator.ask("status")["disk_free_monitoring"]) == (False, False)


def test_the_banner_is_rabbitmqctls():
    banner = commands.load("deactivate_free_disk_space_monitoring").banner
    assert "Deactivating free disk space monitoring on node {node}..." == banner
