"""From a socket to an open connection of the stream protocol: properties, login, tuning, the virtual host."""

import os
import platform
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.client.errors import AuthenticationFailed
from pybroker.client.options import Address, Options
from pybroker.spark.stream.errors import StreamError, name_code
from pybroker.version import VERSION
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import VERSION_1, Code, Key
from pybroker.wire.stream.fields import Versions, pairs_of, texts_of, versions_of

if TYPE_CHECKING:
    from pybroker.spark.stream.link import Link

# Brokers before know no ExchangeCommandVersions, and close the connection for it.
_VERSIONS_SINCE: Final = (3, 11)
_REFUSED: Final = (Code.AUTHENTICATION_FAILURE, Code.AUTHENTICATION_FAILURE_LOOPBACK)


class Agreed(NamedTuple):
    """`advertised` is the address by which the broker wants this node to be reached, `keys` which commands it knows."""

    properties: Mapping[str, str]
    frame_octets_max: int
    heartbeat_s: int
    advertised: Address | None
    keys: frozenset[int]


def shake_hands(link: "Link", options: Options) -> Agreed:
    """Open the connection. Raises AuthenticationFailed, StreamError, ConnectionLost, OSError."""
    properties = pairs_of(link.call(commands.PeerProperties, _properties_of(options)))
    mechanisms = texts_of(link.call(commands.SaslHandshake))
    if options.auth_mechanism not in mechanisms:
        raise AuthenticationFailed(f"the broker offers {' '.join(mechanisms)}, not {options.auth_mechanism}")
    _log_in(link, options)
    tune = link.tuned()
    heartbeat_s = min(tune.heartbeat_s or options.heartbeat_s, options.heartbeat_s)
    link.send(commands.Tune(tune.frame_octets_max, heartbeat_s))
    opened = pairs_of(link.call(commands.Open, options.virtual_host))
    keys: frozenset[int] = frozenset(Key) - {Key.EXCHANGE_COMMAND_VERSIONS, Key.STREAM_STATS, Key.RESOLVE_OFFSET_SPEC}
    if _version(properties) >= _VERSIONS_SINCE:
        ours = tuple(Versions(key, VERSION_1, VERSION_1) for key in (Key.PUBLISH, Key.DELIVER))
        keys = frozenset(each.key for each in versions_of(link.call(commands.ExchangeCommandVersions, ours)))
    return Agreed(properties, tune.frame_octets_max, heartbeat_s, _advertised(opened), keys)


def _log_in(link: "Link", options: Options) -> None:
    response = f"\0{options.username}\0{options.password}".encode() if options.auth_mechanism == "PLAIN" else b""
    try:
        link.call(commands.SaslAuthenticate, options.auth_mechanism, response)
    except StreamError as error:
        if error.code in _REFUSED:
            text = f"the broker refuses the login of user {options.username!r}: {name_code(error.code)}"
            raise AuthenticationFailed(text, error) from error
        raise


def _properties_of(options: Options) -> dict[str, str]:
    """Return what we say of ourselves."""
    properties = {
        "product": "pybroker client",
        "version": VERSION,
        "platform": f"Python {platform.python_version()}",
        "information": f"pid {os.getpid()}",
    }
    if options.connection_name:
        properties["connection_name"] = options.connection_name
    return properties


def _version(properties: Mapping[str, str]) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", properties.get("version", ""))[:2]))


def _advertised(opened: Mapping[str, str]) -> Address | None:
    host, port = opened.get("advertised_host", ""), opened.get("advertised_port", "")
    return Address(host, int(port)) if host and port.isdecimal() else None
