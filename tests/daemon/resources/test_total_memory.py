"""How much memory there is, of files like the kernel's."""

import logging
import resource

import psutil
import pytest

from pybroker.core.resources.resource_limits import ASSUMED, ResourceLimits, TotalMemory
from pybroker.daemon.resources import total_memory

MIB = 1 << 20
# All that psutil asks for.
MEMINFO = ("MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "Shmem", "Active", "Inactive")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of 8 GiB without control groups: a folder to put more into."""
    monkeypatch.setattr(total_memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "proc"))
    monkeypatch.setattr(total_memory, "CGROUP_ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("".join(f"{key}: 8388608 kB\n" for key in MEMINFO))
    return tmp_path


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_b1_installed_memory_is_what_the_kernel_says(machine):
    assert total_memory.measure() == TotalMemory(8192 * MIB, "RAM", 8192 * MIB)


def test_b1_a_version_2_group_bounds_it(machine):
    put(machine / "proc/self/cgroup", "0::/system.slice/pybroker.service\n")
    put(machine / "cgroup/system.slice/pybroker.service/memory.max", f"{512 * MIB}\n")
    assert total_memory.measure() == TotalMemory(512 * MIB, "cgroup v2", 8192 * MIB)


def test_b1_so_does_a_group_around_it(machine):
    put(machine / "proc/self/cgroup", "0::/a/b\n")
    put(machine / "cgroup/a/b/memory.max", "max\n")
    put(machine / "cgroup/a/memory.max", f"{256 * MIB}\n")
    assert total_memory.measure().octets == 256 * MIB


def test_b1_a_container_sees_its_own_group_at_the_top(machine):
    put(machine / "proc/self/cgroup", "0::/docker/4711\n")
    put(machine / "cgroup/memory.max", f"{128 * MIB}\n")
    assert total_memory.measure() == TotalMemory(128 * MIB, "cgroup v2", 8192 * MIB)


def test_b1_a_version_1_group_bounds_it(machine):
    put(machine / "proc/self/cgroup", "9:name=systemd:/\n4:memory:/x\n2:cpu,cpuacct:/x\n")
    put(machine / "cgroup/memory/x/memory.limit_in_bytes", f"{64 * MIB}\n")
    put(machine / "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert total_memory.measure() == TotalMemory(64 * MIB, "cgroup v1", 8192 * MIB)


def test_a_group_without_a_limit_is_none(machine):
    put(machine / "proc/self/cgroup", "4:memory:/\n0::/\n")
    put(machine / "cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    put(machine / "cgroup/memory.max", "max\n")
    assert total_memory.measure().source == "RAM"


def test_b7_the_address_space_limit_bounds_it(machine, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100 * MIB, resource.RLIM_INFINITY))
    assert total_memory.measure() == TotalMemory(100 * MIB, "RLIMIT_AS", 8192 * MIB)


def test_b7_so_does_a_32_bit_process(machine, monkeypatch):
    monkeypatch.setattr(total_memory, "ADDRESS_SPACE_OCTETS", 1 << 31)
    assert total_memory.measure() == TotalMemory(1 << 31, "address space", 8192 * MIB)


def test_b16_an_unknown_system_has_one_gigabyte_and_a_warning(machine, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    (machine / "proc/meminfo").unlink()

    def refuse(_name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr("os.sysconf", refuse)
    monkeypatch.setattr("platform.system", lambda: "Magic_Homebrew_OS")
    marks = ResourceLimits()
    total_memory.announce(marks)
    assert marks.total == ASSUMED
    assert [record.getMessage() for record in caplog.records] == [
        "Unknown total memory size for your OS {unix,magic_homebrew_os}. Assuming memory size is 1024MB.",
        "Memory limit set to 409MB. (429496729 octets of 1073741824, assumed)",
        "Disk free limit set to 47MB (50000000 octets)",
    ]


def test_b16_what_is_configured_needs_no_warning(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "pybroker")
    monkeypatch.setattr(total_memory, "measure", lambda: ASSUMED)
    marks = ResourceLimits()
    marks.total_override_octets = 8 << 30
    total_memory.announce(marks)
    assert caplog.messages[0] == "Memory limit set to 3276MB. (3435973836 octets of 8589934592, configured)"


def test_elsewhere_sysconf_tells(machine):
    (machine / "proc/meminfo").unlink()
    assert total_memory.installed_octets() > 100 * MIB


def test_this_machine_can_be_measured():
    total = total_memory.measure()
    assert 50 * MIB < total.octets <= max(total.installed, total.octets)
