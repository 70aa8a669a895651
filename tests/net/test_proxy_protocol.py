"""Headers of the PROXY protocol: what the specification shows, what it forbids, and any damage to either."""

import ipaddress
import random
import struct

import pytest
from google_crc32c import value as crc32c
from hypothesis import given, strategies as st

from pybroker.net.proxy_protocol import HEADER_OCTETS_MAX, SIGNATURE, ProxyHeader, ProxyHeaderError, parse
from tests.searches import searched, share

LINE = b"PROXY TCP4 192.0.2.1 192.0.2.2 40000 5672\r\n"
SOURCE, DESTINATION = ("192.0.2.1", 40_000), ("192.0.2.2", 5_672)
TCP4 = ipaddress.ip_address("192.0.2.1").packed + ipaddress.ip_address("192.0.2.2").packed
TCP4 += struct.pack(">HH", 40_000, 5_672)
TCP6 = ipaddress.ip_address("2001:db8::1").packed + ipaddress.ip_address("2001:db8::2").packed
TCP6 += struct.pack(">HH", 1, 65_535)


def binary(command: int, family: int, rest: bytes = b"", length: int | None = None) -> bytes:
    return SIGNATURE + struct.pack(">BBH", command, family, len(rest) if length is None else length) + rest


def tlv(kind: int, octets: bytes) -> bytes:
    return struct.pack(">BH", kind, len(octets)) + octets


def summed(header_until_value: bytes, rest: bytes = b"") -> bytes:
    """Return a header whose value of four octets between the two is its CRC32C."""
    octets = crc32c(header_until_value + bytes(4) + rest).to_bytes(4)
    return header_until_value + octets + rest


GOOD = {
    "TCP4": (LINE, True, SOURCE, DESTINATION),
    "TCP4, longest": (
        b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
        True,
        ("255.255.255.255", 65_535),
        ("255.255.255.255", 65_535),
    ),
    "TCP4, port 0": (b"PROXY TCP4 10.0.0.1 10.0.0.2 0 0\r\n", True, ("10.0.0.1", 0), ("10.0.0.2", 0)),
    "TCP6": (b"PROXY TCP6 2001:DB8::1 ::1 40000 5672\r\n", True, ("2001:db8::1", 40_000), ("::1", 5_672)),
    "TCP6, longest": (
        b"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
        True,
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65_535),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65_535),
    ),
    "UNKNOWN": (b"PROXY UNKNOWN\r\n", True, None, None),
    "UNKNOWN, longest": (b"PROXY UNKNOWN " + b"f" * 91 + b"\r\n", True, None, None),
    "UNKNOWN, no text": (b"PROXY UNKNOWN \xff\x00 \r \r\n", True, None, None),
    "binary LOCAL": (binary(0x20, 0), False, None, None),
    "binary LOCAL, with a block to skip": (binary(0x20, 0xFF, b"\xff" * 40), False, None, None),
    "binary TCP4": (binary(0x21, 0x11, TCP4), True, SOURCE, DESTINATION),
    "binary TCP6": (binary(0x21, 0x21, TCP6), True, ("2001:db8::1", 1), ("2001:db8::2", 65_535)),
    "binary TCP4 with values": (
        binary(0x21, 0x11, TCP4 + tlv(4, b"") + tlv(0x20, b"\1" + bytes(4)) + tlv(0xE0, b"x" * 100)),
        True,
        SOURCE,
        DESTINATION,
    ),
    "binary, longest": (binary(0x21, 0x11, TCP4 + tlv(4, bytes(505))), True, SOURCE, DESTINATION),
    "binary with its checksum": (
        summed(binary(0x21, 0x11, TCP4 + b"\3\0\4", 12 + 7 + 3), b"\4\0\0"),
        True,
        SOURCE,
        DESTINATION,
    ),
    "binary UNSPEC": (binary(0x21, 0x00, b"\xff" * 20), True, None, None),
    "binary UNSPEC over TCP": (binary(0x21, 0x01), True, None, None),
    "binary IPv4 over UNSPEC": (binary(0x21, 0x10), True, None, None),
    "binary UDP4": (binary(0x21, 0x12, TCP4), True, None, None),
    "binary UDP6": (binary(0x21, 0x22, TCP6), True, None, None),
    "binary AF_UNIX": (binary(0x21, 0x31, bytes(216)), True, None, None),
    "binary AF_UNIX, datagrams": (binary(0x21, 0x32, bytes(216) + tlv(4, b"x")), True, None, None),
}

BAD = {
    "AMQP": (b"AMQP\0\0\x09\1", "begins with something else"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01", "begins with something else"),
    "HTTP": (b"GET / HTTP/1.1\r\n\r\n", "begins with something else"),
    "lower case": (b"proxy TCP4 192.0.2.1 192.0.2.2 40000 5672\r\n", "begins with something else"),
    "something before it": (b" " + LINE, "begins with something else"),
    "no space": (b"PROXY\r\n", "begins with something else"),
    "a tab": (b"PROXY\tTCP4 192.0.2.1 192.0.2.2 40000 5672\r\n", "begins with something else"),
    "nothing else": (b"PROXY \r\n", "expected PROXY"),
    "LF alone": (LINE.replace(b"\r\n", b"\n"), "CR LF"),
    "LF alone, UNKNOWN": (b"PROXY UNKNOWN \n\r\n", "CR LF"),
    "CR alone": (LINE.replace(b"\r\n", b"\r") + b"x" * 70, "more than 107"),
    "LF CR": (LINE.replace(b"\r\n", b"\n\r"), "CR LF"),
    "too long by one": (b"PROXY UNKNOWN " + b"f" * 92 + b"\r\n", "more than 107"),
    "endless": (b"PROXY TCP4 " + b"1" * 96, "more than 107"),
    "UNKNOWNX": (b"PROXY UNKNOWNX\r\n", "expected PROXY"),
    "UDP4": (LINE.replace(b"TCP4", b"UDP4"), "neither TCP4"),
    "tcp4": (LINE.replace(b"TCP4", b"tcp4"), "neither TCP4"),
    "an address of the other family": (LINE.replace(b"TCP4", b"TCP6"), "an address"),
    "an address of the other family, 6": (b"PROXY TCP4 ::1 ::1 1 2\r\n", "an address"),
    "a name": (LINE.replace(b"192.0.2.1", b"localhost"), "an address"),
    "three numbers": (LINE.replace(b"192.0.2.1", b"192.0.2"), "an address"),
    "five numbers": (LINE.replace(b"192.0.2.1", b"192.0.2.1.1"), "an address"),
    "256": (LINE.replace(b"192.0.2.1", b"192.0.2.256"), "an address"),
    "a leading zero": (LINE.replace(b"192.0.2.1", b"192.0.2.01"), "an address"),
    "hexadecimal": (LINE.replace(b"192.0.2.1", b"0xC0000201"), "an address"),
    "a network": (LINE.replace(b"192.0.2.1", b"192.0.2.1/8"), "an address"),
    "a zone": (b"PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n", "an address"),
    "two gaps": (b"PROXY TCP6 1::2::3 ::1 1 2\r\n", "an address"),
    "nine groups": (b"PROXY TCP6 1:2:3:4:5:6:7:8:9 ::1 1 2\r\n", "an address"),
    "brackets": (b"PROXY TCP6 [::1] ::1 1 2\r\n", "an address"),
    "two spaces": (LINE.replace(b"TCP4 ", b"TCP4  "), "expected PROXY"),
    "a space at the end": (LINE.replace(b"\r\n", b" \r\n"), "expected PROXY"),
    "a field too few": (LINE.replace(b" 5672", b""), "expected PROXY"),
    "a field too many": (LINE.replace(b" 5672", b" 5672 1"), "expected PROXY"),
    "no ASCII": (LINE.replace(b"40000", b"\xef\xbc\x940000"), "expected PROXY"),
    "a port too high": (LINE.replace(b"40000", b"65536"), "a port"),
    "a port too long": (LINE.replace(b"40000", b"111111"), "a port"),
    "a port with a leading zero": (LINE.replace(b"40000", b"0400"), "a port"),
    "a port with a sign": (LINE.replace(b"40000", b"+400"), "a port"),
    "a port below zero": (LINE.replace(b"40000", b"-1"), "a port"),
    "a port with a separator": (LINE.replace(b"40000", b"4_000"), "a port"),
    "no port": (LINE.replace(b"40000", b""), "a port"),
    "binary, wrong signature": (binary(0x21, 0x11, TCP4).replace(b"QUIT", b"QUIX"), "begins with something else"),
    "binary, version 1": (binary(0x11, 0x11, TCP4), "0x11"),
    "binary, version 3": (binary(0x31, 0x11, TCP4), "0x31"),
    "binary, command 2": (binary(0x22, 0x11, TCP4), "0x22"),
    "binary, family 4": (binary(0x21, 0x41, TCP4), "0x41"),
    "binary, protocol 3": (binary(0x21, 0x13, TCP4), "0x13"),
    "binary, too long": (binary(0x21, 0x11, b"", HEADER_OCTETS_MAX - 15), "537 octets"),
    "binary LOCAL, too long": (binary(0x20, 0x00, b"", 65_535), "65551 octets"),
    "binary TCP4, too short": (binary(0x21, 0x11, TCP4[:-1]), "too short"),
    "binary TCP6, too short": (binary(0x21, 0x21, TCP4), "too short"),
    "binary AF_UNIX, too short": (binary(0x21, 0x31, bytes(215)), "too short"),
    "binary, a value without its length": (binary(0x21, 0x11, TCP4 + b"\4\0"), "cut off"),
    "binary, a value too long": (binary(0x21, 0x11, TCP4 + b"\4\0\2\0"), "cut off"),
    "binary, values beyond the header": (binary(0x21, 0x11, TCP4 + b"\4\xff\xff"), "cut off"),
    "binary, wrong checksum": (binary(0x21, 0x11, TCP4 + tlv(3, b"\0\0\0\0")), "checksum"),
    "binary, short checksum": (binary(0x21, 0x11, TCP4 + tlv(3, b"\0\0")), "checksum"),
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("rest", [b"", b"AMQP\0\0\x09\1"])
def test_a_header_ends_where_it_says_and_gives_its_addresses(name, rest):
    octets, relayed, source, destination = GOOD[name]
    assert len(octets) <= HEADER_OCTETS_MAX
    assert parse(octets + rest) == ProxyHeader(len(octets), relayed, source, destination)


@pytest.mark.parametrize("name", GOOD)
def test_a_header_that_comes_octet_by_octet_is_waited_for(name):
    octets = GOOD[name][0]
    assert [parse(octets[:n]) for n in range(len(octets))] == [None] * len(octets)


@pytest.mark.parametrize("name", BAD)
def test_all_else_is_refused_with_a_reason(name):
    octets, reason = BAD[name]
    with pytest.raises(ProxyHeaderError, match=reason):
        parse(octets)


@pytest.mark.parametrize("name", BAD)
def test_a_fault_is_final_and_found_within_the_longest_header(name):
    octets = BAD[name][0].ljust(HEADER_OCTETS_MAX, b"\0")
    found = [verdict(octets[:n]) for n in range(len(octets) + 1)]
    first = found.index("fault")
    assert found[:first] == [None] * first
    assert found[first:] == ["fault"] * (len(found) - first)


def verdict(octets: bytes) -> ProxyHeader | str | None:
    try:
        return parse(octets)
    except ProxyHeaderError:
        return "fault"


@searched(200, 5_000)
@given(
    st.ip_addresses(),
    st.data(),
    st.integers(0, 65_535),
    st.integers(0, 65_535),
    st.binary(max_size=80),
)
def test_both_versions_say_the_same(source, data, source_port, destination_port, rest):
    destination = data.draw(st.ip_addresses(v=source.version))
    line = f"PROXY TCP{source.version} {source} {destination} {source_port} {destination_port}\r\n".encode()
    block = source.packed + destination.packed + struct.pack(">HH", source_port, destination_port)
    octets = binary(0x21, 0x11 if source.version == 4 else 0x21, block + tlv(0xE0, rest))
    expected = (True, (str(source), source_port), (str(destination), destination_port))
    assert parse(line + rest) == (len(line), *expected)
    assert parse(octets + rest) == (len(octets), *expected)


@searched(300, 20_000)
@given(st.one_of(st.binary(max_size=600), st.binary(max_size=600).map(lambda octets: SIGNATURE + b"\x21" + octets)))
def test_any_octets_are_a_header_or_a_fault_or_wait(octets):
    check(octets)


@pytest.mark.search
def test_damaged_headers_are_headers_or_faults_and_never_wait_beyond_the_longest(seed):
    chance = random.Random(seed)
    whole = [octets for octets, *_ in GOOD.values()]
    found = [check(damaged(chance, chance.choice(whole))) for _ in range(share(3_000, 100_000))]
    assert found.count("fault") > len(found) / 4


def damaged(chance: random.Random, octets: bytes) -> bytes:
    """Return a header with up to four octets changed, removed, added, or a part of it twice or swapped."""
    some = bytearray(octets)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(some) + 1)
        match chance.randrange(5):
            case 0:
                some[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                some[at : at + 1] = bytes([chance.choice(b"\r\n 0:.\0\xff")])
            case 2:
                del some[at : at + chance.randint(1, 8)]
            case 3:
                some[at:at] = some[at : at + chance.randint(1, 30)]
            case 4:
                some[at:at] = chance.randbytes(chance.randint(1, 8))
    return bytes(some)


def check(octets: bytes) -> ProxyHeader | str | None:
    """Return what is made of some octets, after checking that more of them would not make something else of it."""
    found = verdict(octets)
    longer = verdict(octets + b"AMQP\0\0\x09\1".ljust(HEADER_OCTETS_MAX, b"\0"))
    assert longer is not None
    if found is not None:
        assert longer == found
    if isinstance(found, ProxyHeader):
        assert found.octets <= min(len(octets), HEADER_OCTETS_MAX)
        assert verdict(octets[: found.octets]) == found
        assert verdict(octets[: found.octets - 1]) is None
        for address, port in filter(None, (found.source, found.destination)):
            assert str(ipaddress.ip_address(address)) == address
            assert 0 <= port <= 65_535
    return found
