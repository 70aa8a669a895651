"""The types of configuration values: from the text in the file to a value, or a ValueError that says what is expected.

Each maker returns a function of one string. The sentences complete `KEY = VALUE: ...`.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from pybroker.control.arguments.durations import parse_duration_ms
from pybroker.control.spec import BadArguments
from pybroker.core.resources.resource_limits import ALLOCATED, RSS

STRATEGIES: Final = (ALLOCATED, RSS)
Parser = Callable[[str], object]

# RabbitMQ's suffixes for octets (cuttlefish's bytesize): powers of 1,024, however they are spelt.
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_OCTETS: Final = re.compile(r"(\d+)\s*([kmg]?)i?b?", re.IGNORECASE)
# RabbitMQ's suffixes for limits (rabbit_resource_monitor_misc:parse_information_unit), which pybrokerctl takes as well:
# powers of 1,000 with a B alone.
_LIMIT_UNITS: Final = {
    "": 1,
    "k": 1 << 10,
    "kib": 1 << 10,
    "kb": 10**3,
    "m": 1 << 20,
    "mib": 1 << 20,
    "mb": 10**6,
    "g": 1 << 30,
    "gib": 1 << 30,
    "gb": 10**9,
}
_LIMIT: Final = re.compile(r"([0-9]{1,18})\s*([a-z]*)", re.IGNORECASE | re.ASCII)
_FRACTION: Final = re.compile(r"[0-9]{1,18}(\.[0-9]+)?(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
# More than any machine has.
LIMIT_OCTETS_MAX: Final = 1 << 62
_NODE_NAME: Final = re.compile(r"[A-Za-z0-9_-]+@[A-Za-z0-9._-]+")


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Address(NamedTuple):
    """A TCP address to listen on: an IP address, `localhost` for both of them, or nothing for all interfaces."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host or "*"
        return f"{host}:{self.port}"


def whole_number(least: int, most: int) -> Parser:
    """Return a parser of whole numbers in a range that includes both ends."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,18}", text) or not least <= int(text) <= most:
            raise ValueError(f"expected an integer from {least} to {most}")
        return int(text)

    return parse


def duration_ms(least: int, most: int) -> Parser:
    """Return a parser of durations in milliseconds: `1d12h`, `90s`, `500ms`."""

    def parse(text: str) -> int:
        try:
            return parse_duration_ms(text, least, most)
        except BadArguments as error:
            raise ValueError(error.text) from None

    return parse


def octets(least: int, most: int) -> Parser:
    """Return a parser of sizes: octets, or with KB, MB or GB (powers of 1,024)."""

    def parse(text: str) -> int:
        match = _OCTETS.fullmatch(text)
        size = int(match[1]) * _UNITS[match[2].lower()] if match else -1
        if not least <= size <= most:
            raise ValueError(f"expected octets from {least} to {most}, such as 131072 or 128KB")
        return size

    return parse


def limit_octets(text: str) -> int:
    """Return the octets of a limit: `1000000000`, `1GB` (powers of 1,000), `1G`, `1GiB` (powers of 1,024)."""
    match = _LIMIT.fullmatch(text)
    unit = _LIMIT_UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None or int(match[1]) * unit > LIMIT_OCTETS_MAX:
        raise ValueError("expected octets, or a number with kB, MB, GB (powers of 1000), k, M, G, kiB, MiB, GiB (1024)")
    return int(match[1]) * unit


def memory_octets(text: str) -> int:
    """Return how many octets of memory there are, which is not 0."""
    octets = limit_octets(text)
    if not octets:
        raise ValueError("expected more than 0 octets")
    return octets


def fraction(text: str) -> float:
    """Return a number of 0 or more."""
    if not _FRACTION.fullmatch(text) or float(text) > LIMIT_OCTETS_MAX:
        raise ValueError("expected a number of 0.0 or more, such as 0.4")
    return float(text)


def paging_ratio(text: str) -> float:
    """Return at which part of the memory limit contents are paged out; above 1 they never are."""
    # Differs from RabbitMQ: its newer form of configuration refuses 1.0 and more, which its documents tell to use.
    try:
        ratio = fraction(text)
    except ValueError:
        ratio = 0
    if not ratio:
        raise ValueError("expected a number above 0.0, such as 0.5; above 1.0 for no paging")
    return ratio


def strategy(text: str) -> str:
    """Return how the memory that is used is counted."""
    if text in {"erlang", "legacy"}:
        raise ValueError(
            "expected allocated or rss: erlang and legacy measure the Erlang VM, which pybroker does not have"
        )
    return str(one_of(STRATEGIES)(text))


def one_of(choices: Iterable[str]) -> Parser:
    """Return a parser that takes one of a few words."""
    words = tuple(choices)

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"expected {' or '.join((', '.join(words[:-1]), words[-1])) if words[1:] else words[0]}")
        return text

    return parse


def boolean(text: str) -> bool:
    """Return True for `true`, False for `false`."""
    return one_of(("true", "false"))(text) == "true"


def text_value(text: str) -> str:
    """Return the text, which must not be empty."""
    if not text:
        raise ValueError("expected a non-empty text")
    return text


def short_text(text: str) -> str:
    """Return the text, which must fit into a shortstr (AMQP §4.2.5.3)."""
    if len(text_value(text).encode()) > 255:
        raise ValueError("expected at most 255 octets")
    return text


def pattern(text: str) -> str:
    """Return a permission pattern that compiles; an empty one denies everything."""
    from pybroker.core.auth.permissions import Pattern, PatternError  # noqa: PLC0415 - google-re2, only if a pattern is set

    try:
        Pattern(text)
    except PatternError as error:
        raise ValueError(f"expected a regular expression (RE2): {error}") from None
    return text


def name_pattern(text: str) -> str:
    """Return a pattern that compiles and is searched for in names, as those of policies are."""
    from pybroker.core.policy.pattern import NamePattern, PatternError  # noqa: PLC0415 - as above

    try:
        NamePattern(text)
    except PatternError as error:
        raise ValueError(f"expected a regular expression (RE2): {error}") from None
    return text


def path(text: str) -> Path:
    """Return an absolute path; `~` is the home folder."""
    try:
        found = Path(text).expanduser()
    except RuntimeError:  # ~NAME without such a user
        found = Path()
    if not found.is_absolute():
        raise ValueError("expected an absolute path")
    return found


def path_or(word: str) -> Parser:
    """Return a parser of absolute paths that also takes `word`, which gives None."""

    def parse(text: str) -> Path | None:
        if text == word:
            return None
        try:
            return path(text)
        except ValueError:
            raise ValueError(f"expected an absolute path or {word}") from None

    return parse


def node_name(text: str) -> str:
    """Return a node name, `NAME@HOST`: the log and the control socket are named after it."""
    if not _NODE_NAME.fullmatch(text) or len(text) > 64:
        raise ValueError("expected NAME@HOST of letters, digits, '-', '_' and, in HOST, '.'; at most 64 characters")
    return text


def address(text: str) -> Address:
    """Return where to listen: `5672`, `localhost:5672`, `127.0.0.1:5672`, `::1:5672`, `[::1]:5672`."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        number = whole_number(0, 65_535)(port)
        if host not in {"", "localhost"}:
            ipaddress.ip_address(host)
    except ValueError:
        raise ValueError("expected a port, or an IP address and a port: 5672, 127.0.0.1:5672, ::1:5672") from None
    assert isinstance(number, int)
    return Address(host, number)


def network(text: str) -> Network:
    """Return an address or a network: `10.0.0.5`, `10.0.0.0/24`, `2001:db8::/32`."""
    try:
        # A zone is no part of a peer's address.
        found = ipaddress.ip_network(text.replace("%", " "), strict=False)
    except ValueError:
        raise ValueError("expected an IP address or a network: 10.0.0.5, 10.0.0.0/24, 2001:db8::/32") from None
    if found.network_address != ipaddress.ip_address(text.partition("/")[0]):
        raise ValueError(f"expected a network without the address of a host, such as {found}")
    if found.version == 6 and found.network_address.ipv4_mapped is not None:
        raise ValueError("expected an IPv4 address as such: 10.0.0.5, not ::ffff:10.0.0.5")
    return found
