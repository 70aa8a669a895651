"""The keys of the configuration about the HTTP API, and the options that they make together."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from pybroker.daemon.config import tls_options, values
from pybroker.daemon.config.conf_file import Assignment
from pybroker.daemon.config.tls_options import TlsOptions
from pybroker.daemon.config.values import Parser

HEAD: Final = "management."
SSL: Final = f"{HEAD}ssl."
# As those of AMQP's listeners.
OF_TLS: Final = (
    *("cacertfile", "certfile", "keyfile", "password", "verify", "fail_if_no_peer_cert", "depth", "versions.N"),
    *("ciphers.N", "honor_cipher_order", "dhfile", "sni.HOST.certfile", "sni.HOST.keyfile"),
)
PASSWORD: Final = f"{SSL}password"
# Bodies are held in memory.
BODY_OCTETS_CEILING: Final = 1 << 30


def _origin(text: str) -> str:
    """Return an origin as browsers send it, `https://HOST` or `https://HOST:PORT`, or `*` for any."""
    if text == "*":
        return text
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or text != f"{parts.scheme}://{parts.netloc}":
        raise ValueError("expected an origin such as https://example.org, or *")
    return text.lower()


# Key -> (default, how its value is read).
KEYS: Final[Mapping[str, tuple[str, Parser]]] = {
    f"{HEAD}enabled": ("true", values.boolean),
    # Differs from RabbitMQ: it listens on all addresses.
    f"{HEAD}tcp.ip": ("127.0.0.1", values.text_value),
    f"{HEAD}tcp.port": ("15672", values.whole_number(0, 65_535)),
    f"{HEAD}http.max_body_size": ("20000000", values.octets(1, BODY_OCTETS_CEILING)),
    f"{HEAD}login_session_timeout": ("480", values.whole_number(1, 10_080)),
    f"{HEAD}cors.allow_origins.N": ("", _origin),
    f"{HEAD}cors.max_age": ("1800", values.whole_number(0, 86_400)),
    f"{HEAD}hsts.policy": ("", values.short_text),
    # Differs from RabbitMQ: likewise.
    f"{SSL}ip": ("127.0.0.1", values.text_value),
    f"{SSL}port": ("15671", values.whole_number(0, 65_535)),
    **{f"{SSL}{name}": tls_options.KEYS[f"{tls_options.HEAD}{name}"] for name in OF_TLS},
}


class ManagementOptions(NamedTuple):
    """The listener of the HTTP API, its limits, and what it tells browsers."""

    host: str
    port: int
    body_octets_max: int
    session_minutes: int
    origins: tuple[str, ...]
    origins_age_s: int
    transport_policy: str
    tls_host: str
    tls_port: int
    tls: TlsOptions | None

    def document(self) -> dict[str, Any]:
        """Return them for pybroker-web, which reads the key: the key's password among them. Paths are text."""
        return {**self._asdict(), "tls": None if self.tls is None else _plain(self.tls._asdict())}


def _plain(value: Any) -> Any:
    """Return options as JSON has them: as far down as they go."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def gather(
    given: Mapping[str, dict[str, Any]], assignments: Iterable[Assignment] = ()
) -> tuple[ManagementOptions | None, list[str]]:
    """Return the options, None without the HTTP API, and a sentence for each thing that does not fit."""
    places = {each.key: each.where for each in assignments}

    def one(name: str) -> Any:
        default, parse = KEYS[HEAD + name]
        return given.get(HEAD + name, {}).get("", parse(default) if default else "")

    if not one("enabled"):
        return None, []
    tls, faults = None, list[str]()
    if wanted := [place for key, place in places.items() if key.startswith(SSL)]:
        tls, faults = tls_options.collect(SSL, given, places, wanted[0])
    origins = given.get(f"{HEAD}cors.allow_origins.N", {})
    return ManagementOptions(
        host=one("tcp.ip"),
        port=one("tcp.port"),
        body_octets_max=one("http.max_body_size"),
        session_minutes=one("login_session_timeout"),
        origins=tuple(dict.fromkeys(origins[n] for n in sorted(origins, key=lambda n: (len(n), n)))),
        origins_age_s=one("cors.max_age"),
        transport_policy=one("hsts.policy"),
        tls_host=one("ssl.ip"),
        tls_port=one("ssl.port"),
        tls=tls,
    ), faults
