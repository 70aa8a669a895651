import pytest

from pybroker.control.commands import load
from pybroker.control.commands.monitoring.status import Args
from pybrokerctl.views import status

DOCUMENT = {
    "pid": 9456,
    "os": "Linux",
    "uptime": 326,
    "is_under_maintenance": False,
    "product_name": "pybroker",
    "product_version": "0.1.0",
    "rabbitmq_version": "3.13.0",
    "node_name": "pybroker@vm",
    "app_running": True,
    "runtime": "CPython 3.11.7, gevent 26.9.0, codec: C",
    "active_plugins": [],
    "data_directory": "/var/lib/pybroker",
    "config_files": ["/etc/pybroker/pybroker.conf"],
    "log_files": ["/var/log/pybroker/pybroker@vm.log"],
    "alarms": [],
    "resource_alarms": [],
    "notices": [],
    "memory": {
        "total": {
            "rss": 139_351_680,
            "allocated": 129_351_680,
            "accounted": 50_000_000,
            "reusable": 10_000_000,
            "used": 129_351_680,
        },
        "strategy": "allocated",
    },
    "vm_memory_high_watermark_setting": {"relative": 0.4},
    "vm_memory_high_watermark_limit": 10_110_600_806,
    "vm_memory_high_watermark_paging_ratio": 0.5,
    "vm_memory_high_watermark_paging_limit": 5_055_300_403,
    "total_memory": {"bytes": 25_276_502_016, "source": "cgroup v2", "installed": 50_553_004_032},
    "disk_free_limit": 50_000_000,
    "disk_free_monitoring": True,
    "file_descriptors": {"total_used": 2, "total_limit": 927, "sockets_used": 1, "sockets_limit": 735},
    "disk_free": 82_291_236_864,
    "totals": {"connection_count": 1, "queue_count": 2, "virtual_host_count": 3},
    "telemetry": {"interval_ms": 10_000, "rows": 1_234, "octets": 56_789, "dropped": 0},
    "listeners": [{"interface": "[::]", "port": 5672, "protocol": "amqp", "purpose": "AMQP 0-9-1"}],
}


def text(unit="gb", **changes):
    return "".join(status.view({**DOCUMENT, **changes}, Args(unit)))


def test_the_sections_are_rabbitmqctls_in_its_order():
    titles = ("Runtime", "Plugins", "Data directory", "Config files", "Log file(s)", "Alarms", "Memory")
    titles += ("File Descriptors", "Free Disk Space", "Totals", "Listeners")
    lines = text().splitlines()
    places = [lines.index(title) for title in titles]
    assert places == sorted(places)
    assert all(lines[place + 1] == "" for place in places)


@pytest.mark.parametrize(
    "line",
    [
        "OS PID: 9456",
        "OS: Linux",
        "Uptime (seconds): 326",
        "Is under maintenance?: false",
        "RabbitMQ version: 3.13.0",
        "Node name: pybroker@vm",
        "Node data directory: /var/lib/pybroker",
        " * /etc/pybroker/pybroker.conf",
        " * /var/log/pybroker/pybroker@vm.log",
        "(none)",
        "Total memory used: 0.1294 gb",
        "Calculation strategy: allocated",
        "Resident set: 0.1394 gb, reusable of it: 0.01 gb, accounted for: 0.05 gb",
        "Available memory: 25.2765 gb (cgroup v2) of 50.553 gb installed",
        "Paging ratio: 0.5, computed to: 5.0553 gb",
        # B14, to the letter.
        "Memory high watermark setting: 0.4 of available memory, computed to: 10.1106 gb",
        "Low free disk space watermark: 0.05 gb",
        "Total: 2, limit: 927",
        "Free disk space: 82.2912 gb",
        "Connection count: 1",
        "Queue count: 2",
        "Virtual host count: 3",
        "Every 10 s, rows written: 1234, octets: 56789",
        "Interface: [::], port: 5672, protocol: amqp, purpose: AMQP 0-9-1",
    ],
)
def test_lines_are_rabbitmqctls(line):
    assert line in text().splitlines()


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("bytes", "129351680 bytes"), ("mb", "129.3517 mb"), ("mib", "123.3594 mib"), ("gib", "0.1205 gib")],
)
def test_units(unit, expected):
    assert status.size(129_351_680, unit) == expected
    assert f"Total memory used: {expected}" in text(unit)


@pytest.mark.parametrize("unit", ["MB", "Bytes", "GiB"])
def test_a_unit_is_read_in_any_case_and_shown_as_it_was_given(unit):
    given = load("status").parse({"unit": unit}).unit
    value, _, shown = status.size(129_351_680, given).rpartition(" ")
    assert (unit, status.size(129_351_680, unit.lower())) == (shown, f"{value} {unit.lower()}")


def test_sockets_are_told_with_their_limit():
    assert "Sockets: 1, limit: 735" in text().splitlines()


def test_what_is_not_known_is_none():
    document = {key: value for key, value in DOCUMENT.items() if key != "disk_free"}
    shown = "".join(status.view({**document, "data_directory": ""}, Args()))
    assert "Node data directory: (none)" in shown
    assert "Free Disk Space\n\nLow free disk space watermark: 0.05 gb\n\n" in shown


def test_alarms_are_told_with_how_long_they_have_been_set_and_notices_as_they_are():
    found = [{"message": "Memory alarm on node n: much (for 3 min 12 s)"}]
    lines = text(resource_alarms=found, notices=["something was restored"]).splitlines()
    at = lines.index("Alarms")
    assert ["Memory alarm on node n: much (for 3 min 12 s)", "something was restored"] == lines[at + 2 : at + 4]


def test_what_is_off_is_said_to_be_off():
    shown = text(disk_free_monitoring=False, vm_memory_high_watermark_paging_limit=None)
    assert "Free disk space: 82.2912 gb\nFree disk space is not monitored\n" in shown
    assert "Paging ratio: 0.5, nothing is paged out\n" in shown


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (None, "Off"),
        (
            {"interval_ms": 500, "rows": 1, "octets": 2, "dropped": 3},
            "Every 0.5 s, rows written: 1, octets: 2, dropped: 3",
        ),
        (
            {
                "interval_ms": 500,
                "rows": 1,
                "octets": 2,
                "dropped": 0,
                "streams": {"published": 4, "dropped": 5},
            },
            "Every 0.5 s, rows written: 1, octets: 2, messages in streams: 4 (5 dropped)",
        ),
    ],
)
def test_telemetry_that_is_off_or_loses_rows_says_so(figures, expected):
    assert expected in text(telemetry=figures).splitlines()
