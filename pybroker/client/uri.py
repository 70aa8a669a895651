"""AMQP URIs -> options: `amqp://user:password@host:port/vhost?heartbeat=10`, `amqps://` for TLS.

Source: RabbitMQ's URI and URI query parameters specifications. One wish differs: a path of `/` alone is the virtual
host `/`, as most clients read it, not the empty one.
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pybroker.client.options import AMQP_PORT, AMQPS_PORT, Address, Options, Tls

_VERIFY: Final = {"verify_peer": True, "verify_none": False}


def _verify(text: str) -> bool:
    return _VERIFY[text]


# Query parameters: the option they set, and how they are read. RabbitMQ's connection_timeout is in milliseconds.
_OPTIONS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "heartbeat": ("heartbeat_s", int),
    "channel_max": ("channel_max", int),
    "frame_max": ("frame_octets_max", int),
    "connection_timeout": ("connect_timeout_s", lambda text: int(text) / 1_000),
    "auth_mechanism": ("auth_mechanism", str.upper),
    "name": ("connection_name", str),
}
_TLS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "cacertfile": ("ca_file", str),
    "certfile": ("cert_file", str),
    "keyfile": ("key_file", str),
    "password": ("key_password", str),
    "server_name_indication": ("server_name", str),
    "verify": ("verify", _verify),
}


def parse_uri(uri: str, *more: str) -> Options:
    """Return the options of a URI; of `more` URIs only the addresses are taken, to be tried in turn.

    >>> parse_uri("amqp://me:secret@one/orders?heartbeat=10", "amqp://two:5673").addresses
    (Address(host='one', port=5672), Address(host='two', port=5673))

    Raises ValueError with a sentence about what is wrong.
    """
    parts = _split(uri)
    values: dict[str, Any] = {}
    tls: dict[str, Any] = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        table, target = (_TLS, tls) if name in _TLS else (_OPTIONS, values)
        if name not in table:
            raise ValueError(f"URI parameter {name} does not exist")
        option, read = table[name]
        try:
            target[option] = read(text)
        except (ValueError, KeyError):
            raise ValueError(f"URI parameter {name}: invalid value {text!r}") from None
    if parts.scheme == "amqps":
        values["tls"] = Tls(**tls)
    elif tls:
        raise ValueError(f"URI parameters about TLS need amqps://, not {parts.scheme}://")
    if parts.username is not None:
        values["username"] = unquote(parts.username)
    if parts.password is not None:
        values["password"] = unquote(parts.password)
    if len(parts.path) > 1:
        values["virtual_host"] = unquote(parts.path[1:])
    others = [_split(each) for each in more]
    if any(other.scheme != parts.scheme for other in others):
        raise ValueError("URIs of one connection must be all amqp:// or all amqps://")
    values["addresses"] = tuple(_address(each) for each in (parts, *others))
    return Options(**values)


def _split(uri: str) -> SplitResult:
    parts = urlsplit(uri)
    if parts.scheme not in ("amqp", "amqps"):
        raise ValueError(f"URI: must begin with amqp:// or amqps://, not {parts.scheme or uri!r}")
    if "/" in parts.path[1:]:
        raise ValueError("URI: a / inside a virtual host's name is written %2f")
    return parts


def _address(parts: SplitResult) -> Address:
    port = AMQPS_PORT if parts.scheme == "amqps" else AMQP_PORT
    return Address(unquote(parts.hostname or "localhost"), parts.port or port)
