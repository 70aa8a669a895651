"""The PROXY protocol, versions 1 and 2: octets before all others, in which a proxy says whose connection it passes on.

A header tells the address of the client, and the one that it connected to. The text form is a line of at most 107
octets; the binary one is bounded here by what fits into any TCP segment, 536. Knows octets only: who may send a header
is the preamble's affair.
"""

import ipaddress
import re
import struct
from typing import Final, NamedTuple

from google_crc32c import value as crc32c

LINE_OCTETS_MAX: Final = 107
# Differs from RabbitMQ: it takes a header of any length that arrives in one piece. The specification has all fit here.
HEADER_OCTETS_MAX: Final = 536
SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"

_WORD: Final = b"PROXY "
_UNKNOWN: Final = b"PROXY UNKNOWN"
_PORT: Final = re.compile(r"0|[1-9][0-9]{0,4}", re.ASCII)
_FAMILIES: Final[dict[str, type[ipaddress.IPv4Address | ipaddress.IPv6Address]]] = {
    "TCP4": ipaddress.IPv4Address,
    "TCP6": ipaddress.IPv6Address,
}
_FIXED: Final = struct.Struct(">BBH")
_FIXED_OCTETS: Final = len(SIGNATURE) + _FIXED.size
_TLV: Final = struct.Struct(">BH")
_LOCAL, _PROXY = 0x20, 0x21
_UNSPECIFIED, _STREAM, _DATAGRAM = 0, 1, 2
# By address family: AF_INET, AF_INET6, AF_UNIX.
_ADDRESSES: Final = {1: struct.Struct(">4s4sHH"), 2: struct.Struct(">16s16sHH"), 3: struct.Struct(">108s108s")}
_UNIX: Final = 3
_CRC32C: Final = 3


class ProxyHeader(NamedTuple):
    """A header of so many `octets`. Its addresses are None where the socket's own ones count.

    `relayed`: the connection is somebody else's, known or not. If not, it is the proxy's own, a health check perhaps.
    """

    octets: int
    relayed: bool
    source: tuple[str, int] | None = None
    destination: tuple[str, int] | None = None


class ProxyHeaderError(ValueError):
    """The octets are no header; the text completes `a malformed PROXY header: ...`."""


def parse(data: bytes) -> ProxyHeader | None:
    """Return the header that `data` begins with, None if it needs more octets. Raises ProxyHeaderError."""
    if data.startswith(SIGNATURE):
        return _parse_binary(data)
    if data.startswith(_WORD):
        return _parse_line(data)
    if SIGNATURE.startswith(data) or _WORD.startswith(data):
        return None
    raise ProxyHeaderError("the connection begins with something else; connect through the proxy")


def _parse_line(data: bytes) -> ProxyHeader | None:
    """Read version 1: `PROXY TCP4 192.0.2.1 192.0.2.2 40000 5672`, or `PROXY UNKNOWN` with anything behind it."""
    end = data.find(b"\n", 0, LINE_OCTETS_MAX)
    if end < 0:
        if len(data) >= LINE_OCTETS_MAX:
            raise ProxyHeaderError(f"the line has more than {LINE_OCTETS_MAX} octets")
        return None
    if data[end - 1 : end] != b"\r":
        raise ProxyHeaderError("the line does not end in CR LF")
    line = data[: end - 1]
    if line == _UNKNOWN or line.startswith(_UNKNOWN + b" "):
        return ProxyHeader(end + 1, relayed=True)
    try:
        _, family, source, destination, source_port, destination_port = line.decode("ascii").split(" ")
    except ValueError:
        raise ProxyHeaderError("expected PROXY, a family, two addresses and two ports") from None
    kind = _FAMILIES.get(family)
    if kind is None:
        raise ProxyHeaderError("the family is neither TCP4, TCP6 nor UNKNOWN")
    return ProxyHeader(
        end + 1,
        True,
        (_read_address(kind, source), _read_port(source_port)),
        (_read_address(kind, destination), _read_port(destination_port)),
    )


def _read_address(kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address], text: str) -> str:
    try:
        # A zone means something on the proxy's machine only.
        return str(kind(text.replace("%", " ")))
    except ValueError:
        raise ProxyHeaderError("an address is not one of its family") from None


def _read_port(text: str) -> int:
    if not _PORT.fullmatch(text) or int(text) > 65_535:
        raise ProxyHeaderError("a port is no number from 0 to 65535")
    return int(text)


def _parse_binary(data: bytes) -> ProxyHeader | None:
    """Read version 2: its fixed part, addresses, then types, lengths and values that nothing here asks for."""
    if len(data) < _FIXED_OCTETS:
        return None
    command, family_and_protocol, length = _FIXED.unpack_from(data, len(SIGNATURE))
    if command not in {_LOCAL, _PROXY}:
        raise ProxyHeaderError(f"version and command are 0x{command:02x}")
    end = _FIXED_OCTETS + length
    if end > HEADER_OCTETS_MAX:
        raise ProxyHeaderError(f"it has {end} octets, more than {HEADER_OCTETS_MAX}")
    family, protocol = divmod(family_and_protocol, 16)
    if command == _PROXY and (family > _UNIX or protocol > _DATAGRAM):
        raise ProxyHeaderError(f"family and protocol are 0x{family_and_protocol:02x}")
    if len(data) < end:
        return None
    if command == _LOCAL:
        return ProxyHeader(end, relayed=False)
    if _UNSPECIFIED in {family, protocol}:
        return ProxyHeader(end, relayed=True)
    addresses = _ADDRESSES[family]
    if length < addresses.size:
        raise ProxyHeaderError("it is too short for its addresses")
    _check_values(data[:end], _FIXED_OCTETS + addresses.size)
    if family == _UNIX or protocol != _STREAM:
        # Valid, and of no use for AMQP over TCP: the specification has it count as unknown.
        return ProxyHeader(end, relayed=True)
    source, destination, source_port, destination_port = addresses.unpack_from(data, _FIXED_OCTETS)
    # By its length it is an address of either family.
    return ProxyHeader(
        end,
        True,
        (str(ipaddress.ip_address(source)), source_port),
        (str(ipaddress.ip_address(destination)), destination_port),
    )


def _check_values(header: bytes, at: int) -> None:
    """Check that the values behind the addresses fill the header, and its checksum if it has one."""
    end = len(header)
    while at < end:
        if at + _TLV.size > end:
            raise ProxyHeaderError("a value is cut off")
        kind, length = _TLV.unpack_from(header, at)
        at += _TLV.size
        if at + length > end:
            raise ProxyHeaderError("a value is cut off")
        if kind == _CRC32C:
            blank = header[:at] + bytes(length) + header[at + length :]
            if length != 4 or crc32c(blank) != int.from_bytes(header[at : at + 4]):
                raise ProxyHeaderError("its checksum is wrong")
        at += length
