"""The words of --check about the limits."""

import pytest

from pybroker.core.resources.resource_limits import ASSUMED, TotalMemory
from pybroker.daemon.config import check
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import configure
from pybroker.daemon.resources import total_memory

GIB = 1 << 30


@pytest.fixture
def found(monkeypatch):
    """Return what sets the memory that is found."""

    def find(octets, source="RAM", installed=None):
        total = TotalMemory(octets, source, octets if installed is None else installed)
        monkeypatch.setattr(total_memory, "measure", lambda: total)

    find(10 * GIB)
    return find


def told(text=""):
    assignments, problems = parse_conf(text.encode(), "f")
    return list(check.told(configure(assignments, problems)))


def test_the_defaults(found):
    assert told() == [
        "available memory: 10240MiB (10737418240 octets), all installed memory",
        "memory limit: 4096MiB (4294967296 octets), 0.4 of the available memory",
        "paging threshold: 2048MiB (2147483648 octets), 0.5 of the limit",
        "free disk limit: 47MiB (50000000 octets), as configured",
    ]


def test_c3_and_d3_the_documents_examples(found):
    lines = told("vm_memory_high_watermark_paging_ratio = 0.75\ndisk_free_limit.relative = 1.0")
    assert lines[2:] == [
        "paging threshold: 3072MiB (3221225472 octets), 0.75 of the limit",
        "free disk limit: 10240MiB (10737418240 octets), 1.0 of the available memory",
    ]


@pytest.mark.parametrize(
    ("octets", "source", "installed", "line"),
    [
        (
            GIB,
            "cgroup v2",
            8 * GIB,
            "1024MiB (1073741824 octets), limited by cgroup v2; 8192MiB (8589934592 octets) are installed",
        ),
        (*ASSUMED, "1024MiB (1073741824 octets), assumed, because the system does not report it"),
    ],
)
def test_b1_which_bound_won_is_said(found, octets, source, installed, line):
    found(octets, source, installed)
    assert told()[0] == f"available memory: {line}"


def test_what_is_configured_wins(found):
    line = "available memory: 2048MiB (2147483648 octets), configured; 10240MiB (10737418240 octets) are installed"
    assert told("total_memory_available_override_value = 2GiB")[0] == line
    found(*ASSUMED)
    line = "available memory: 2048MiB (2147483648 octets), configured"
    assert told("total_memory_available_override_value = 2GiB")[0] == line


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        # B10, B11
        ("relative", "0", "0MiB (0 octets), which blocks all publishers"),
        ("relative", "2", "20480MiB (21474836480 octets), 2.0 of the available memory, which disables the alarm"),
        ("absolute", "0", "0MiB (0 octets), which blocks all publishers"),
        ("absolute", "1GB", "953MiB (1000000000 octets), as configured"),
        ("absolute", "20GiB", "10240MiB (10737418240 octets), capped at the available memory"),
    ],
)
def test_the_memory_limit(found, key, value, line):
    assert told(f"vm_memory_high_watermark.{key} = {value}")[1] == f"memory limit: {line}"


def test_c4_no_paging(found):
    assert told("vm_memory_high_watermark_paging_ratio = 1.5")[2] == "paging threshold: none, the ratio is 1.5"


def test_nothing_is_logged(found, caplog):
    found(GIB, "cgroup v2", 8 * GIB)
    told("vm_memory_high_watermark.relative = 2")
    assert caplog.records == []
