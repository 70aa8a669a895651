"""The settings in force, each as a line of the configuration file with where its value comes from (environment).

A source is `default`, `FILE:LINE`, the option it was typed with, the variable systemd handed it over in, or
`pybrokerctl` for what was changed while the node runs.
"""

import os
from typing import Final, NamedTuple

from pybroker.daemon.config.conf_file import Assignment
from pybroker.daemon.config.config import Config
from pybroker.daemon.config.keys import KEYS, LIMITS, find_key, is_secret, replaces

HIDDEN: Final = "***"
RUN_TIME: Final = "pybrokerctl"
DEFAULT: Final = "default"
# systemd's variables behind the defaults of places (paths.py).
VARIABLES: Final = {"data_dir": "STATE_DIRECTORY", "log.dir": "LOGS_DIRECTORY", "control.socket": "RUNTIME_DIRECTORY"}


class Row(NamedTuple):
    """One setting."""

    key: str
    value: str
    source: str


def effective(config: Config) -> list[Row]:
    """Return the settings in the order of `KEYS`; passwords are hidden, and a value in a file is shown as its name."""
    given = {each.key: each for each in config.assignments}
    return [_without_secret(row, given.get(row.key)) for row in in_force(config)]


def _without_secret(row: Row, given: Assignment | None) -> Row:
    if given is not None and given.file and row.source == given.where:
        return row._replace(value=given.shown)
    return row._replace(value=HIDDEN) if is_secret(row.key) else row


def in_force(config: Config) -> list[Row]:
    """Return the settings in the order of `KEYS`, with passwords."""
    given = {each.key: each for each in config.assignments}
    for limit in LIMITS:
        if f"{limit}.absolute" in given:
            given.pop(f"{limit}.relative", None)  # not in force
    changed = config.settings.set_at_run_time
    by_name: dict[str, list[tuple[str, str]]] = {}
    for each in given.values():
        by_name.setdefault((find_key(each.key) or ("",))[0], []).append((each.key, each.value))
    places = _places(config)
    rows: dict[str, Row] = {}
    for name in KEYS:
        for key, value in by_name.get(name) or _defaults(config, name):
            source = given[key].where if key in given else _default_source(key)
            rows[key] = Row(key, places.get(key, value), source)
    for key, value in changed.items():
        # Several keys of one kind are replaced as a whole: those of before are not in force any more.
        rows = {other: row for other, row in rows.items() if other == key or not replaces(key, other)}
        rows[key] = Row(key, value, RUN_TIME)
    return [*rows.values()]


def _defaults(config: Config, name: str) -> list[tuple[str, str]]:
    """Return the lines that would say what holds without them; none for a key that only takes something away."""
    settings = config.settings
    match name:
        case "listeners.tcp" | "stream.listeners.tcp" | "loopback_users":
            return []
        case "listeners.tcp.NAME":
            return [(f"listeners.tcp.{n}", str(address.port)) for n, address in enumerate(config.tcp, 1)]
        case "stream.listeners.tcp.NAME":
            return [(f"stream.listeners.tcp.{n}", str(address.port)) for n, address in enumerate(config.stream_tcp, 1)]
        case "auth_mechanisms.N":
            return [(f"auth_mechanisms.{n}", each) for n, each in enumerate(settings.auth_mechanisms, 1)]
        case "default_user_tags.TAG":
            return [(f"default_user_tags.{tag}", "true") for tag in settings.default_user_tags]
        case "loopback_users.USER":
            return [(f"loopback_users.{user}", "true") for user in sorted(settings.loopback_users)]
    limit, _, _ = name.rpartition(".")
    if limit in LIMITS and any(each.key.startswith(f"{limit}.") for each in config.assignments):
        return []
    default = KEYS[name].default
    return [(name, default)] if default else []


def _places(config: Config) -> dict[str, str]:
    """Return the values that stand for a name or path which only the running node knows."""
    settings = config.settings
    return {
        "node.name": settings.node_name,
        "cluster_name": settings.cluster_name,
        "data_dir": str(config.data_dir),
        "event_exchange.vhost": settings.event_vhost,
        "control.socket": str(config.control_socket),
        "pid_file": str(config.pid_file or "none"),
        "log.dir": str(config.log_dir),
        "log.file": "false" if config.log_file is None else str(config.log_file),
        "log.audit": "false" if config.audit_file is None else str(config.audit_file),
    }


def _default_source(key: str) -> str:
    variable = VARIABLES.get(key, "")
    return variable if os.environ.get(variable) else DEFAULT
