"""Options of a connection: plain values, so that they can be pickled and sent to where they are used.

`uri` parses a URI into them; `connection` uses them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

AMQP_PORT = 5672
AMQPS_PORT = 5671


class Address(NamedTuple):
    """The address of a broker."""

    host: str = "localhost"
    port: int = AMQP_PORT


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How to speak TLS; the files are PEM. Without `ca_file` the system's authorities are trusted.

    `key_file` is only needed if the key is not in `cert_file`; `key_password` decrypts it.
    `server_name` is what the certificate must bear, by default the address's host. `verify=False` trusts anybody: for
    tests only.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: str = field(default="", repr=False)
    server_name: str | None = None
    verify: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything about a connection; times are in seconds.

    >>> Options(addresses=(Address("one"), Address("two")), heartbeat_s=10).heartbeat_s
    10
    """

    addresses: tuple[Address, ...] = (Address(),)  # tried in turn, at a start and at each recovery
    username: str = "guest"
    password: str = field(default="guest", repr=False)
    virtual_host: str = "/"
    auth_mechanism: str = "PLAIN"  # or EXTERNAL: the certificate says who we are
    tls: Tls | None = None
    connection_name: str = ""
    client_properties: Mapping[str, Any] = field(default_factory=dict)

    # Asked for; the broker's wish counts where it is lower. 0 heartbeats: none.
    heartbeat_s: int = 60
    channel_max: int = 2047
    frame_octets_max: int = 131_072

    connect_timeout_s: float = 10.0  # one address, TCP and TLS
    handshake_timeout_s: float = 10.0
    rpc_timeout_s: float = 60.0  # the wait for an answer; while the connection is blocked, blocked_timeout_s counts
    close_timeout_s: float = 10.0
    blocked_timeout_s: float = 600.0  # how long a publish waits while the broker takes none

    recovery: bool = True
    topology_recovery: bool = True
    recovery_delay_s: float = 5.0

    workers: int | None = None  # threads of the executor that the connection makes, None: max(1, cpus)
    callbacks_max: int = 1_000  # deliveries that wait for one channel's callback before the socket is not read
    callback_octets_max: int = 64 << 20  # the same in octets of their bodies
    close_channel_on_callback_error: bool = False
    unconfirmed_max: int = 65_536  # publishes of one channel without an answer; a publish waits for room
    body_octets_max: int = 512 << 20  # RabbitMQ's own most; a larger delivery closes the connection

    def __post_init__(self) -> None:
        if not self.addresses:
            raise ValueError("addresses: at least one is needed")
        if self.auth_mechanism not in ("PLAIN", "EXTERNAL"):
            raise ValueError(f"auth_mechanism: PLAIN or EXTERNAL, not {self.auth_mechanism!r}")
        if not 0 <= self.heartbeat_s <= 65_535:
            raise ValueError(f"heartbeat_s: 0 to 65535, not {self.heartbeat_s}")
        if not 1 <= self.channel_max <= 65_535:
            raise ValueError(f"channel_max: 1 to 65535, not {self.channel_max}")
        if not 4_096 <= self.frame_octets_max < 1 << 32:
            raise ValueError(f"frame_octets_max: at least 4096, not {self.frame_octets_max}")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers: at least 1, not {self.workers}")
        for name in ("callbacks_max", "callback_octets_max", "unconfirmed_max", "body_octets_max"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: at least 1, not {getattr(self, name)}")
        for name in ("connect", "handshake", "rpc", "close"):
            if getattr(self, f"{name}_timeout_s") <= 0:
                raise ValueError(f"{name}_timeout_s: above 0, not {getattr(self, f'{name}_timeout_s')}")
        for name in ("blocked_timeout_s", "recovery_delay_s"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: 0 or more, not {getattr(self, name)}")
