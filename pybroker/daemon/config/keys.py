"""The table of configuration keys: of each its default, the type of its value, and when a new value takes effect.

Names and defaults are RabbitMQ's where RabbitMQ has the key. A word in capitals in a key (`listeners.tcp.NAME`) stands
for any word. `values.py` checks the form of a value; `config.py` puts values where they belong.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from pybroker.core.auth.certificate import LOGIN_FROM, NAME_TYPES
from pybroker.core.auth.password import ALGORITHMS, ARGON2ID
from pybroker.core.settings import AUTH_MECHANISMS, MESSAGE_OCTETS_CEILING
from pybroker.daemon.config import management_options, new_vhosts, stream_options, tls_options, values
from pybroker.daemon.config.rabbitmq_keys import REASONS, find_reason
from pybroker.daemon.config.values import Parser

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "none")
LOG_FORMATTERS: Final = ("plaintext", "json")
# Limits that are either relative to the memory or absolute, and the fields of ResourceLimits for either form.
LIMITS: Final = {
    "vm_memory_high_watermark": ("memory_relative", "memory_octets"),
    "disk_free_limit": ("disk_relative", "disk_octets"),
}
# How much a misspelt key has in common with one of ours, where RabbitMQ has others: `log.file.levle` has as much.
SLIP_RATIO: Final = 0.92
# Beside the log, unless there is none.
AUDIT_FILE: Final = "NODENAME-audit.log"
# Thirty years.
TIMEOUT_MS_MAX: Final = 1_000_000_000_000
# How a changed value takes effect: by a reload, by a restart, or not at all because only a node without data reads it.
RELOAD: Final = "reload"
RESTART: Final = "restart"
NEW_NODE: Final = "new node"


class Key(NamedTuple):
    """One key: its default as it is written in a file, how its value is read, the attribute that gets it, and when.

    `attribute` is one of Settings (`watermarks.strategy`: of its watermarks), one of Config if it begins with a dot;
    empty if `_gather` or `_set_limits` puts it in its place. `change` says what makes a new value take effect: RELOAD,
    RESTART or NEW_NODE.
    """

    default: str
    parse: Parser
    attribute: str
    change: str


def _refuses_immediate(text: str) -> bool:
    return values.one_of(("return", "refuse"))(text) == "refuse"


def _refuses_flow(text: str) -> bool:
    return values.one_of(("pause", "refuse"))(text) == "refuse"


def _number_or_infinity(text: str) -> object:
    return 0 if text == "infinity" else values.whole_number(1, 1_000_000)(text)


def _milliseconds_or_undefined(text: str) -> object:
    try:
        return 0 if text == "undefined" else values.whole_number(0, TIMEOUT_MS_MAX)(text)
    except ValueError as error:
        raise ValueError(f"{error}, or undefined") from None


def _closes_timed_out(text: str) -> bool:
    return values.one_of(("return", "close"))(text) == "close"


def _limit_or_infinity(text: str) -> object:
    return None if text == "infinity" else values.whole_number(0, 1_000_000_000)(text)


def _log_file(text: str) -> Path | None:
    if text == "false":
        return None
    if "/" in text:
        return values.path(text)
    return Path(values.text_value(text))


def _audit_file(text: str) -> Path | None:
    return Path(AUDIT_FILE) if text == "true" else _log_file(text)


# With RabbitMQ's names of their modules.
_QUEUE_TYPES: Final = {
    "classic": "rabbit_classic_queue",
    "quorum": "rabbit_quorum_queue",
    "stream": "rabbit_stream_queue",
}


def _queue_type(text: str) -> str:
    found = values.one_of((*_QUEUE_TYPES, *_QUEUE_TYPES.values()))(text)
    return next(name for name, module in _QUEUE_TYPES.items() if found in {name, module}).replace("classic", "")


KEYS: Final[Mapping[str, Key]] = {
    "node.name": Key("pybroker@HOST", values.node_name, "", RESTART),
    "cluster_name": Key("pybroker@HOST", values.short_text, "cluster_name", RESTART),
    "data_dir": Key("/var/lib/pybroker", values.path, ".data_dir", RESTART),
    "control.socket": Key("/run/pybroker/NODENAME.sock", values.path, ".control_socket", RESTART),
    "pid_file": Key("DATA_DIR/NODENAME.pid", values.path_or("none"), ".pid_file", RESTART),
    "listeners.tcp": Key("", values.one_of(("none",)), "", RESTART),
    "listeners.tcp.NAME": Key("5672", values.address, "", RESTART),
    "listeners.ssl": Key("", values.one_of(("none",)), "", RESTART),
    tls_options.LISTENERS: Key("", values.address, "", RESTART),
    stream_options.TCP: Key("", values.one_of(("none",)), "", RESTART),
    stream_options.TCP_LISTENERS: Key(str(stream_options.PORT), values.address, "", RESTART),
    stream_options.SSL: Key("", values.one_of(("none",)), "", RESTART),
    stream_options.SSL_LISTENERS: Key("", values.address, "", RESTART),
    **{name: Key(default, parse, owner, RELOAD) for name, (default, parse, owner) in stream_options.SETTINGS.items()},
    "listeners.unix.NAME": Key("", values.path, "", RESTART),
    "tcp_listen_options.backlog": Key("1024", values.whole_number(1, 65_535), ".backlog", RESTART),
    "proxy_protocol": Key("false", values.boolean, "", RELOAD),
    "proxy_protocol.trusted.N": Key("", values.network, "", RELOAD),
    "handshake_timeout": Key("10000", values.whole_number(1, 3_600_000), "handshake_timeout_ms", RELOAD),
    "ssl_handshake_timeout": Key("5000", values.whole_number(1, 3_600_000), "tls_handshake_timeout_ms", RELOAD),
    **{name: Key(default, parse, "", RELOAD) for name, (default, parse) in tls_options.KEYS.items()},
    "heartbeat": Key("60", values.whole_number(0, 65_535), "heartbeat_s", RELOAD),
    "frame_max": Key("131072", values.octets(4_096, MESSAGE_OCTETS_CEILING), "frame_octets_max", RELOAD),
    "initial_frame_max": Key("4096", values.octets(4_096, MESSAGE_OCTETS_CEILING), "frame_octets_max_initial", RELOAD),
    "channel_max": Key("2047", values.whole_number(0, 65_535), "channel_max", RELOAD),
    "connection_max": Key("infinity", _limit_or_infinity, "connection_max", RELOAD),
    "cluster_queue_limit": Key("infinity", _limit_or_infinity, "queues_max", RELOAD),
    "channel_max_per_node": Key("infinity", _limit_or_infinity, "channels_per_node_max", RELOAD),
    "consumer_max_per_channel": Key("10000", _number_or_infinity, "consumers_per_channel_max", RELOAD),
    "consumer_max_per_connection": Key("20000", _number_or_infinity, "consumers_per_connection_max", RELOAD),
    "consumer_timeout": Key("1800000", _milliseconds_or_undefined, "consumer_timeout_ms", RELOAD),
    "max_message_size": Key("134217728", values.octets(1, MESSAGE_OCTETS_CEILING), "message_octets_max", RELOAD),
    "auth_mechanisms.N": Key("PLAIN", values.one_of(AUTH_MECHANISMS), "", RELOAD),
    "ssl_cert_login_from": Key("distinguished_name", values.one_of(LOGIN_FROM), "cert_login_from", RELOAD),
    "ssl_cert_login_san_type": Key("dns", values.one_of(NAME_TYPES), "cert_login_name_type", RELOAD),
    "ssl_cert_login_san_index": Key("0", values.whole_number(0, 1_000), "cert_login_name_index", RELOAD),
    "password_hashing_module": Key(ARGON2ID, values.one_of(ALGORITHMS), "password_hashing", RELOAD),
    "default_vhost": Key("/", values.short_text, "default_vhost", NEW_NODE),
    "default_queue_type": Key("classic", _queue_type, "default_queue_type", RELOAD),
    "event_exchange.vhost": Key("/", values.short_text, "event_vhost", RESTART),
    "default_user": Key("guest", values.short_text, "default_user", NEW_NODE),
    "default_pass": Key("guest", values.text_value, "default_pass", NEW_NODE),
    "default_user_tags.TAG": Key("true", values.boolean, "", NEW_NODE),
    "default_permissions.configure": Key(".*", values.pattern, "", NEW_NODE),
    "default_permissions.write": Key(".*", values.pattern, "", NEW_NODE),
    "default_permissions.read": Key(".*", values.pattern, "", NEW_NODE),
    **{name: Key("", parse, "", RELOAD) for name, parse in new_vhosts.PARSERS.items()},
    "loopback_users": Key("", values.one_of(("none",)), "", RELOAD),
    "loopback_users.USER": Key("true", values.boolean, "", RELOAD),
    "load_definitions": Key("", values.path, "", RESTART),
    "management.load_definitions": Key("", values.path, "", RESTART),
    "definitions.import_backend": Key("local_filesystem", values.one_of(("local_filesystem", "local")), "", RESTART),
    "definitions.local.path": Key("", values.path, "", RESTART),
    "definitions.skip_if_unchanged": Key("false", values.boolean, ".definitions_skipped_if_unchanged", RESTART),
    "vm_memory_high_watermark.relative": Key("0.4", values.fraction, "", RELOAD),
    "vm_memory_high_watermark.absolute": Key("", values.limit_octets, "", RELOAD),
    "vm_memory_high_watermark_paging_ratio": Key("0.5", values.paging_ratio, "watermarks.paging_ratio", RELOAD),
    "vm_memory_calculation_strategy": Key("allocated", values.strategy, "watermarks.strategy", RELOAD),
    "memory_monitor_interval": Key(
        "1000", values.whole_number(100, 3_600_000), "watermarks.memory_interval_ms", RELOAD
    ),
    "total_memory_available_override_value": Key("", values.memory_octets, "watermarks.total_override_octets", RELOAD),
    "disk_free_limit.relative": Key("", values.fraction, "", RELOAD),
    "disk_free_limit.absolute": Key("50000000", values.limit_octets, "", RELOAD),
    "amqp.consumer_timeout": Key("return", _closes_timed_out, "close_timed_out", RELOAD),
    "amqp.flow": Key("pause", _refuses_flow, "refuse_flow", RELOAD),
    "amqp.immediate": Key("return", _refuses_immediate, "refuse_immediate", RELOAD),
    "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration": Key(
        "false", values.boolean, "relaxed_redeclaration", RELOAD
    ),
    "amqp.server_properties.product": Key("RabbitMQ", values.short_text, "product", RELOAD),
    "log.dir": Key("/var/log/pybroker", values.path, ".log_dir", RESTART),
    "log.file": Key("NODENAME.log", _log_file, ".log_file", RESTART),
    "log.file.level": Key("info", values.one_of(LOG_LEVELS), ".log_level", RELOAD),
    "log.file.formatter": Key("plaintext", values.one_of(LOG_FORMATTERS), ".log_formatter", RELOAD),
    "log.audit": Key(AUDIT_FILE, _audit_file, ".audit_file", RESTART),
    "log.console": Key("false", values.boolean, ".console", RESTART),
    "log.console.level": Key("info", values.one_of(LOG_LEVELS), ".console_level", RELOAD),
    "log.console.formatter": Key("plaintext", values.one_of(LOG_FORMATTERS), ".console_formatter", RELOAD),
    "log.console.stdio": Key("stdout", values.one_of(("stdout", "stderr")), ".console_stdio", RESTART),
    "log.journald": Key("false", values.boolean, ".journald", RESTART),
    "log.journald.level": Key("info", values.one_of(LOG_LEVELS), ".journald_level", RELOAD),
    "web.enabled": Key("true", values.boolean, ".web", RESTART),
    **{name: Key(default, parse, "", RESTART) for name, (default, parse) in management_options.KEYS.items()},
    "prometheus.enabled": Key("true", values.boolean, ".prometheus", RESTART),
    "prometheus.tcp.ip": Key("127.0.0.1", values.text_value, ".prometheus_host", RESTART),
    "prometheus.tcp.port": Key("15692", values.whole_number(0, 65_535), ".prometheus_port", RESTART),
    "prometheus.series_max": Key("500000", values.whole_number(1_000, 100_000_000), ".prometheus_series_max", RESTART),
    "telemetry.enabled": Key("true", values.boolean, ".telemetry", RESTART),
    "telemetry.interval": Key("10000", values.whole_number(1_000, 3_600_000), ".telemetry_interval_ms", RELOAD),
    "telemetry.streams": Key("false", values.boolean, ".telemetry_streams", RESTART),
    "telemetry.retention": Key("7", values.whole_number(1, 3_650), ".telemetry_retention_days", RELOAD),
}


# Of each key with a word in capitals: the part before it, the word, the part after it.
_FAMILIES: Final = {name: re.split("([A-Z]+)", name) for name in KEYS if not name.islower()}
# Keys that are lists (`listeners.tcp.NAME`) and may be emptied (`listeners.tcp = none`).
_LISTS: Final = {head[:-1] for head, _, tail in _FAMILIES.values() if not tail} & KEYS.keys()
# Keys whose values are shown nowhere.
SECRETS: Final = frozenset({"default_pass", new_vhosts.PASSWORD, tls_options.PASSWORD, management_options.PASSWORD})


def find_key(key: str) -> tuple[str, str] | None:
    """Return the name in `KEYS` that `key` fits, and the word that stands for its part in capitals (`""`: none)."""
    if key in KEYS and key not in _FAMILIES:
        return key, ""
    for name, (head, kind, tail) in _FAMILIES.items():
        word = key[len(head) : len(key) - len(tail)]
        # Names of users and of hosts may have dots.
        if word and key == head + word + tail and (kind in {"USER", "HOST"} or "." not in word):
            return name, word
    return None


def replaces(key: str, other: str) -> bool:
    """Tell whether a value of `key`, given later, ends one of `other`: both say the same thing in another form."""
    if key == other:
        return True
    stem = key.rpartition(".")[0]
    if stem in LIMITS and other.rpartition(".")[0] == stem:
        return True
    # `listeners.tcp = none` and `listeners.tcp.NAME`.
    return any(longer.startswith(f"{word}.") for word, longer in ((key, other), (other, key)) if word in _LISTS)


def is_secret(key: str) -> bool:
    """Tell whether its value is not for everybody who may read a terminal or a report."""
    found = find_key(key)
    return found is not None and found[0] in SECRETS


def explain_unknown(key: str) -> str:
    """Return why there is no such key: the nearest one, or the reason if RabbitMQ has it and it is no slip of a key."""
    import difflib  # noqa: PLC0415 - 10 ms that only a mistake pays

    reason = find_reason(key)
    if reason is not None:
        # Nobody knows all that RabbitMQ has behind a dot.
        slips = () if key in REASONS else difflib.get_close_matches(key, KEYS, 1, SLIP_RATIO)
        return f"unknown key {key}; did you mean {slips[0]}?" if slips else f"{key} is {reason}"
    if key in LIMITS:
        return f"unknown key {key}; did you mean {key}.relative or {key}.absolute?"
    stem, _, word = key.rpartition(".")
    names = [f"{name.rpartition('.')[0]}.{word}" if name.rpartition(".")[2].isupper() else name for name in KEYS]
    near = difflib.get_close_matches(key, names, 1, 0.6) or difflib.get_close_matches(stem or key, names, 1, 0.5)
    return f"unknown key {key}" + (f"; did you mean {near[0]}?" if near else "; pybroker.conf(5) lists all keys")
