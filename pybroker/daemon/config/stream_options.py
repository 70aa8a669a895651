"""The keys of the configuration about the stream protocol, and the listeners that they ask for."""

from collections.abc import Mapping
from typing import Any, Final

from pybroker.core.settings import DISK, OS
from pybroker.daemon.config import values
from pybroker.daemon.config.values import Address, Parser

TCP: Final = "stream.listeners.tcp"
SSL: Final = "stream.listeners.ssl"
# A listener each, by any name.
TCP_LISTENERS: Final = f"{TCP}.NAME"
SSL_LISTENERS: Final = f"{SSL}.NAME"
PORT: Final = 5552
# A chunk of the largest size, with what is in front of it.
FRAME_OCTETS_MIN: Final = 8_192
FRAME_OCTETS_MAX: Final = 1_073_741_824

# Key -> (default, how its value is read, the attribute of Settings).
SETTINGS: Final[Mapping[str, tuple[str, Parser, str]]] = {
    "stream.frame_max": (
        "1048576",
        values.octets(FRAME_OCTETS_MIN, FRAME_OCTETS_MAX),
        "stream_frame_octets_max",
    ),
    "stream.initial_frame_max": (
        "8192",
        values.octets(1_024, FRAME_OCTETS_MAX),
        "stream_frame_octets_max_initial",
    ),
    "stream.heartbeat": ("60", values.whole_number(0, 65_535), "stream_heartbeat_s"),
    "stream.durability": (DISK, values.one_of((DISK, OS)), "stream_durability"),
    "stream.advertised_host": ("", values.short_text, "stream_advertised_host"),
    "stream.advertised_port": ("", values.whole_number(1, 65_535), "stream_advertised_port"),
    "stream.advertised_tls_host": ("", values.short_text, "stream_advertised_tls_host"),
    "stream.advertised_tls_port": ("", values.whole_number(1, 65_535), "stream_advertised_tls_port"),
}


def tcp(given: Mapping[str, dict[str, Any]]) -> tuple[Address, ...]:
    """Return where to listen on TCP."""
    if TCP in given:
        return ()
    return tuple(dict.fromkeys(given.get(TCP_LISTENERS, {"": Address("", PORT)}).values()))


def ssl(given: Mapping[str, dict[str, Any]]) -> tuple[Address, ...]:
    """Return where to listen with TLS; nowhere by default."""
    return () if SSL in given else tuple(dict.fromkeys(given.get(SSL_LISTENERS, {}).values()))
