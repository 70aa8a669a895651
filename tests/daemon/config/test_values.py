from ipaddress import ip_network
from pathlib import Path

import pytest

from pybroker.daemon.config import values
from pybroker.daemon.config.values import Address


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (values.whole_number(0, 10), "0", 0),
        (values.whole_number(0, 10), "10", 10),
        (values.octets(1, 1 << 30), "131072", 131_072),
        (values.octets(1, 1 << 30), "128KB", 131_072),
        (values.octets(1, 1 << 30), "128kb", 131_072),
        (values.octets(1, 1 << 30), "128 KiB", 131_072),
        (values.octets(1, 1 << 30), "2MB", 2_097_152),
        (values.octets(1, 1 << 30), "1GB", 1 << 30),
        (values.duration_ms(0, 10**12), "0s", 0),
        (values.duration_ms(0, 10**12), "1d12h", 129_600_000),
        (values.duration_ms(0, 10**12), "1f1w1m500ms", 1_814_460_500),
        (values.limit_octets, "0", 0),
        (values.limit_octets, "1000000000", 10**9),
        (values.limit_octets, "1GB", 10**9),
        (values.limit_octets, "953MB", 953_000_000),
        (values.limit_octets, "50000kB", 50_000_000),
        (values.limit_octets, "1024M", 1 << 30),
        (values.limit_octets, "1GiB", 1 << 30),
        (values.limit_octets, "2k", 2_048),
        (values.limit_octets, "2 KIB", 2_048),
        (values.memory_octets, "1", 1),
        (values.fraction, "0", 0.0),
        (values.fraction, "0.4", 0.4),
        (values.fraction, "100", 100.0),
        (values.fraction, "4.0e-1", 0.4),
        (values.paging_ratio, "1.5", 1.5),
        (values.strategy, "rss", "rss"),
        (values.boolean, "true", True),
        (values.boolean, "false", False),
        (values.path, "/a/b", Path("/a/b")),
        (values.path_or("none"), "none", None),
        (values.path_or("none"), "/a", Path("/a")),
        (values.node_name, "pybroker@my-host.lan", "pybroker@my-host.lan"),
        (values.pattern, "", ""),
        (values.pattern, "^amq\\.", "^amq\\."),
        (values.address, "5672", Address("", 5672)),
        (values.address, "0", Address("", 0)),
        (values.address, "127.0.0.1:5672", Address("127.0.0.1", 5672)),
        (values.address, "::1:5672", Address("::1", 5672)),
        (values.address, "[::1]:5672", Address("::1", 5672)),
        (values.address, "localhost:1", Address("localhost", 1)),
        (values.network, "10.0.0.5", ip_network("10.0.0.5/32")),
        (values.network, "10.0.0.0/24", ip_network("10.0.0.0/24")),
        (values.network, "0.0.0.0/0", ip_network("0.0.0.0/0")),
        (values.network, "::1", ip_network("::1/128")),
        (values.network, "2001:DB8::/32", ip_network("2001:db8::/32")),
    ],
)
def test_a_good_value_is_taken(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (values.whole_number(0, 10), "11"),
        (values.whole_number(0, 10), "-1"),
        (values.whole_number(0, 10), "1.0"),
        (values.whole_number(0, 10), ""),
        (values.whole_number(0, 10), "1" * 5000),
        (values.octets(1, 1 << 30), "2TB"),
        (values.octets(1, 1 << 30), "0"),
        (values.octets(1, 1 << 30), "big"),
        (values.limit_octets, "-1"),
        (values.limit_octets, "1.5GB"),
        (values.limit_octets, "1TB"),
        (values.limit_octets, "GB"),
        (values.limit_octets, "1" * 5000),
        (values.limit_octets, "999999999999GB"),
        (values.limit_octets, "1\N{KELVIN SIGN}"),
        (values.memory_octets, "0"),
        (values.fraction, "-0.1"),
        (values.fraction, "nan"),
        (values.fraction, "inf"),
        (values.fraction, "1e999"),
        (values.fraction, "40%"),
        (values.paging_ratio, "0"),
        (values.paging_ratio, "x"),
        (values.strategy, "erlang"),
        (values.strategy, "legacy"),
        (values.strategy, "all"),
        (values.boolean, "yes"),
        (values.path, "relative"),
        (values.path, "~nobody-of-that-name/x"),
        (values.path_or("none"), "relative"),
        (values.node_name, "pybroker"),
        (values.node_name, "a/b@host"),
        (values.node_name, "a@" + "h" * 70),
        (values.short_text, ""),
        (values.short_text, "x" * 256),
        (values.pattern, "("),
        (values.pattern, "(?=lookahead)"),
        (values.address, "65536"),
        (values.address, "host:5672"),
        (values.address, "127.0.0.1"),
        (values.address, "127.0.0.1:"),
        (values.address, "300.0.0.1:5672"),
        (values.network, ""),
        (values.network, "localhost"),
        (values.network, "10.0.0.5/24"),
        (values.network, "10.0.0.0/33"),
        (values.network, "10.0.0.5:5672"),
        (values.network, "fe80::1%eth0"),
        (values.network, "::ffff:10.0.0.5"),
        (values.network, "::ffff:10.0.0.0/104"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_expected(parse, text):
    with pytest.raises(ValueError, match=r"^expected "):
        parse(text)


def test_home_is_found():
    assert values.path("~/x") == Path.home() / "x"


@pytest.mark.parametrize(
    ("address", "text"),
    [(Address("", 1), "*:1"), (Address("::1", 1), "[::1]:1"), (Address("127.0.0.1", 1), "127.0.0.1:1")],
)
def test_an_address_reads_as_in_urls(address, text):
    assert str(address) == text


def test_choices_are_named():
    with pytest.raises(ValueError, match=r"^expected a, b or c$"):
        values.one_of(("a", "b", "c"))("d")


@pytest.mark.parametrize("text", ["", "5", "1x", "1h 5m", "0ms", "2d", "-1s"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match=r"^expected a duration from 1ms to 1d, such as 90s or 1h30m$"):
        values.duration_ms(1, 86_400_000)(text)


def test_a_pattern_of_names_compiles():
    assert values.name_pattern("^(?!amq).*") == "^(?!amq).*"
    with pytest.raises(ValueError, match="RE2"):
        values.name_pattern("(")
