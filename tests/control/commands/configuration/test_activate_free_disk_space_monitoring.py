from pybroker.control import commands


def test_d10_the_disk_is_watched_at_once_and_the_alarm_set(operator):
    marks = operator.world.broker.settings.watermarks
    operator.daemon.disk_free = 10 << 20
    text = operator.ask("activate_free_disk_space_monitoring")
    assert operator.daemon.asked == ["watch_disk True", "check_alarms"]
    limit, alarm = text.splitlines()
    assert limit == "Disk space monitoring is active: 10.5 MB free, 50.0 MB required"
    assert alarm == (
        "The disk alarm is set: 10.5 MB free, 50.0 MB required. Publishers are blocked; "
        "'pybrokerctl why_blocked' lists them."
    )
    assert marks.measured.disk_free == 10 << 20


def test_where_the_system_does_not_tell_it_is_said(operator):
    operator.daemon.disk_free = None
    assert "as soon as the system reports" in operator.ask("activate_free_disk_space_monitoring")


def test_the_banner_is_rabbitmqctls():
    banner = commands.load("activate_free_disk_space_monitoring").banner
    assert "[Re-]activating free disk space monitoring on node {node}..." == banner
