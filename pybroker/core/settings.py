"""The settings of the broker as plain values. `daemon/config/` knows where they come from (file, option)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pybroker.core.auth.certificate import EXTERNAL
from pybroker.core.auth.password import ARGON2ID
from pybroker.core.resources.resource_limits import ResourceLimits

# RabbitMQ's ceiling: what an operator may configure at most (rabbit.hrl MAX_MSG_SIZE).
MESSAGE_OCTETS_CEILING: Final = 536_870_912
# The SASL mechanisms that there are.
AUTH_MECHANISMS: Final = ("PLAIN", "AMQPLAIN", EXTERNAL)
# A confirm of a stream waits for the disk, or for the operating system.
DISK: Final = "disk"
OS: Final = "os"


@dataclass(slots=True)
class Settings:
    """Names end in their unit; defaults are RabbitMQ's unless the field says otherwise."""

    node_name: str = "pybroker@localhost"
    cluster_name: str = "pybroker@localhost"
    product: str = "RabbitMQ"
    frame_octets_max: int = 131_072
    frame_octets_max_initial: int = 4_096
    channel_max: int = 2_047
    heartbeat_s: int = 60
    stream_frame_octets_max: int = 1_048_576  # of the stream protocol, as the next ones
    stream_frame_octets_max_initial: int = 8_192
    stream_heartbeat_s: int = 60
    stream_durability: str = DISK  # whether what goes straight into a stream's files is synced before it is confirmed
    stream_advertised_host: str = ""  # empty, or 0: the address that the client reached
    stream_advertised_port: int = 0
    stream_advertised_tls_host: str = ""  # empty: as without TLS
    stream_advertised_tls_port: int = 0
    handshake_timeout_ms: int = 10_000
    tls_handshake_timeout_ms: int = 5_000
    message_octets_max: int = 134_217_728
    # Differs from RabbitMQ: it has no limit. One with all its consumers ends within some ten milliseconds.
    consumers_per_channel_max: int = 10_000  # 0: no limit, as with the next
    consumers_per_connection_max: int = 20_000
    connection_max: int | None = None  # of the node; None: no limit, as with the next
    channels_per_node_max: int | None = None
    queues_max: int | None = None
    password_hashing: str = ARGON2ID  # of new users and changed passwords
    seeds_defaults: bool = True  # a fresh node gets the next ones; not one that loads definitions
    default_vhost: str = "/"
    default_queue_type: str = ""  # where the virtual host has none of its own; empty: none is put in the arguments
    event_vhost: str = "/"  # of the event exchange
    default_user: str = "guest"
    default_pass: str = "guest"  # noqa: S105 - RabbitMQ's default user, loopback only
    default_user_tags: tuple[str, ...] = ("administrator",)
    default_permissions: tuple[str, str, str] = (".*", ".*", ".*")  # configure, write, read
    loopback_users: frozenset[str] = field(default_factory=lambda: frozenset({"guest"}))
    # Limits of new virtual hosts: by name, and by the last part of a key of the configuration.
    default_limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    default_policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # the operator's
    default_users: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    refuse_immediate: bool = False
    refuse_flow: bool = False
    auth_mechanisms: tuple[str, ...] = ("PLAIN", "AMQPLAIN")
    # Of EXTERNAL: what of a peer's certificate is the user's name, and which alternative name.
    cert_login_from: str = "distinguished_name"
    cert_login_name_type: str = "dns"
    cert_login_name_index: int = 0
    default_consumer_prefetch: int = 0
    relaxed_redeclaration: bool = False  # of a quorum queue as a classic one
    consumer_timeout_ms: int = 1_800_000  # 0: never
    close_timed_out: bool = False  # the channel, with 406, as RabbitMQ does
    data_dir: str = ""  # this and the next two: for status to show, empty in tests
    config_files: tuple[str, ...] = ()
    log_files: tuple[str, ...] = ()
    watermarks: ResourceLimits = field(default_factory=ResourceLimits, compare=False)
    set_at_run_time: dict[str, str] = field(default_factory=dict)  # by key, for environment to show

    def changed(self, key: str, value: str) -> None:
        """Note that a value was set while the node runs and is not the configuration's any more; the latest is last."""
        self.set_at_run_time.pop(key, None)
        self.set_at_run_time[key] = value
