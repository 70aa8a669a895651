"""Telemetry tells of a disk alarm from before it is set until after it clears, and does not cause it."""

import json
import time

from tests.daemon.running import Running
from tests.faults.disks import fill, need_root, tmpfs
from tests.faults.load import wait_until

MIB = 1 << 20
DISK_OCTETS = 128 * MIB
LIMIT_OCTETS = 30 * MIB
CONFIG = f"""
listeners.tcp.1 = 127.0.0.1:0
stream.listeners.tcp = none
telemetry.interval = 1000
disk_free_limit.absolute = {LIMIT_OCTETS}
"""


def rows(telemetry, table):
    paths = sorted((telemetry / table).glob("*.ndjson*"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def used(telemetry):
    return sum(path.stat().st_blocks * 512 for path in telemetry.rglob("*") if path.is_file())


def test_a_disk_alarm_is_in_the_telemetry(tmp_path):
    need_root()
    disk, telemetry = tmp_path / "disk", tmp_path / "disk" / "data" / "telemetry"
    (tmp_path / "p.conf").write_text(CONFIG)
    with tmpfs(disk, DISK_OCTETS):
        running = Running(disk, config=tmp_path / "p.conf")
        try:
            wait_until((telemetry / "reserve").exists, "room is set aside")
            fill(disk / "ballast", LIMIT_OCTETS * 4 // 3)  # the disk is short, and there is no alarm
            time.sleep(1.1)
            before = used(telemetry)
            wait_until(lambda: len(rows(telemetry, "node_sample")) > 3, "the node is told of")
            assert used(telemetry) <= before
            fill(disk / "more", LIMIT_OCTETS - 2 * MIB)
            wait_until(lambda: len(rows(telemetry, "alarm_event")) == 1, "the alarm is set")
            (disk / "ballast").unlink()
            (disk / "more").unlink()
            wait_until(lambda: len(rows(telemetry, "alarm_event")) == 2, "the alarm clears")
            assert (telemetry / "reserve").stat().st_size <= 8 * MIB
        finally:
            running.stop()
        alarms = [(row["resource"], row["action"], row["limit"]) for row in rows(telemetry, "alarm_event")]
        assert alarms == [("disk", "set", LIMIT_OCTETS), ("disk", "clear", LIMIT_OCTETS)]
        nodes = rows(telemetry, "node_sample")
        assert [row["telemetry_dropped_total"] for row in nodes] == [0] * len(nodes)
        assert min(row["disk_free"] for row in nodes) < LIMIT_OCTETS * 1.5
        assert rows(telemetry, "alarm_event")[0]["used"] < LIMIT_OCTETS
