"""The configuration: the typed Config that assignments of keys make together.

A key that is not in `KEYS` is refused: with the reason if RabbitMQ knows it, else with the nearest key. `conf_file.py`
reads the file, `keys.py` has the table.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pybroker import paths
from pybroker.core.settings import Settings
from pybroker.daemon.config import external, management_options, new_vhosts, stream_options, tls_options
from pybroker.daemon.config.conf_file import PROBLEMS_MAX, Assignment
from pybroker.daemon.config.keys import AUDIT_FILE, KEYS, LIMITS, explain_unknown, find_key, is_secret
from pybroker.daemon.config.management_options import ManagementOptions
from pybroker.daemon.config.options import Options
from pybroker.daemon.config.tls_options import TlsOptions
from pybroker.daemon.config.values import Address, Network
from pybroker.daemon.start_error import StartError

# In the order in which they are loaded.
DEFINITIONS: Final = ("load_definitions", "management.load_definitions", "definitions.local.path")
# RabbitMQ's schema: "Values greater than 0.9 can be dangerous".
PAGING_RATIO_CAREFUL: Final = 0.9


NO_TRUSTED_PROXY: Final = (
    "anybody could claim any address; add the addresses or networks of the proxies, such as "
    "proxy_protocol.trusted.1 = 10.0.0.5"
)


@dataclass(slots=True)
class Config:
    """The configuration of the daemon. `name_node` completes values that are named after the node."""

    settings: Settings = field(default_factory=Settings)
    node_name: str = ""  # empty: the data folder knows, or the host
    tcp: tuple[Address, ...] = (Address("", 5672),)
    ssl: tuple[Address, ...] = ()
    stream_tcp: tuple[Address, ...] = (Address("", stream_options.PORT),)
    stream_ssl: tuple[Address, ...] = ()
    tls: TlsOptions | None = None  # of the listeners with TLS
    unix: tuple[Path, ...] = ()
    backlog: int = 1_024
    trusted_proxies: tuple[Network, ...] = ()  # with any, each TCP connection begins with a PROXY header
    data_dir: Path = field(default_factory=paths.data_dir)
    control_socket: Path | None = None
    pid_file: Path | None = Path()
    log_dir: Path = field(default_factory=paths.log_dir)
    log_file: Path | None = Path()
    log_level: str = "info"
    log_formatter: str = "plaintext"
    audit_file: Path | None = Path()
    console: bool = False
    console_level: str = "info"
    console_formatter: str = "plaintext"
    console_stdio: str = "stdout"
    journald: bool = False
    journald_level: str = "info"
    telemetry: bool = True
    telemetry_interval_ms: int = 10_000
    telemetry_retention_days: int = 7
    telemetry_streams: bool = False
    web: bool = True
    management: ManagementOptions | None = field(default_factory=lambda: management_options.gather({})[0])
    prometheus: bool = True
    prometheus_host: str = "127.0.0.1"
    prometheus_port: int = 15_692
    prometheus_series_max: int = 500_000
    definitions: tuple[Path, ...] = ()  # files and folders of definitions to load
    definitions_skipped_if_unchanged: bool = False
    options: Options = field(default_factory=Options)  # of the command line that it was read for
    assignments: tuple[Assignment, ...] = ()  # what was given, for environment to show
    overridden: tuple[Assignment, ...] = ()  # what a later file or an option has replaced
    warnings: list[str] = field(default_factory=list)  # what is odd about it, for the log

    @property
    def has_web(self) -> bool:
        """Tell whether there is a pybroker-web: it is wanted, and has something to serve."""
        return self.web and (self.prometheus or self.management is not None)

    def name_node(self, name: str) -> None:
        """Take the node's name, and with it every place that was left to the default."""
        settings = self.settings
        settings.node_name = name
        if settings.cluster_name == Settings().cluster_name:
            settings.cluster_name = name
        if self.control_socket is None:
            self.control_socket = paths.control_socket(name)
        if self.pid_file == Path():
            self.pid_file = self.data_dir / f"{name}.pid"
        if self.log_file is not None:
            self.log_file = self.log_dir / (f"{name}.log" if self.log_file == Path() else self.log_file)
        if self.audit_file == Path():
            self.audit_file = None if self.log_file is None else self.log_file.parent / AUDIT_FILE
        if self.audit_file is not None:
            audit_file = self.log_dir / self.audit_file
            self.audit_file = audit_file.with_name(audit_file.name.replace("NODENAME", name))
        settings.data_dir = str(self.data_dir)
        places = [] if self.log_file is None else [str(self.log_file)]
        places += [f"<{self.console_stdio}>"] * self.console + ["<journald>"] * self.journald
        settings.log_files = tuple(places)


class ConfigError(StartError):
    """The configuration is refused; `problems` has a sentence for each fault, `text` is the first."""

    def __init__(self, problems: list[str], code: int = os.EX_CONFIG) -> None:
        more = f" (and {len(problems) - 1} more: see pybroker --check)" if problems[1:] else ""
        super().__init__(problems[0] + more, code)
        self.problems = problems


def configure(assignments: Iterable[Assignment], problems: Iterable[str] = ()) -> Config:
    """Return the Config that the assignments make; a later one replaces an earlier one of the same key.

    Raises:
        ConfigError: for `problems` met before and for each key or value that is refused.

    """
    found = list(problems)
    given: dict[str, dict[str, Any]] = {}
    assignments = tuple(assignments)
    for assignment in assignments:
        if len(found) >= PROBLEMS_MAX:
            found.append(f"{assignment.where}: too many faults, the rest is not checked")
            break
        fits = find_key(assignment.key)
        if fits is None:
            found.append(f"{assignment.where}: {explain_unknown(assignment.key)}")
            continue
        try:
            given.setdefault(fits[0], {})[fits[1]] = KEYS[fits[0]].parse(assignment.value)
        except ValueError as error:
            found.append(_describe(assignment, str(error)))
    if found:
        raise ConfigError(sorted(dict.fromkeys(found), key=_place_of))
    config = Config(assignments=assignments)
    for name, of_word in given.items():
        attribute = KEYS[name].attribute
        if attribute.startswith("."):
            setattr(config, attribute[1:], of_word[""])
        elif attribute:
            *owner, attribute = attribute.split(".")
            setattr(config.settings.watermarks if owner else config.settings, attribute, of_word[""])
    _gather(config, given)
    _set_trusted_proxies(config, given)
    _set_limits(config, given)
    return config


def _place_of(problem: str) -> tuple[str, int]:
    """Return the file and the line that a problem names, nothing for an option."""
    match = re.match(r"(.*?):([0-9]+): ", problem)
    return (match[1], int(match[2])) if match else ("", 0)


def _gather(config: Config, given: Mapping[str, dict[str, Any]]) -> None:
    """Put together what several keys say about one thing."""
    settings = config.settings
    config.node_name = given.get("node.name", {}).get("", "")
    if "event_exchange.vhost" not in given:
        settings.event_vhost = settings.default_vhost
    if "listeners.tcp" in given:
        config.tcp = ()
    elif "listeners.tcp.NAME" in given:
        config.tcp = tuple(dict.fromkeys(given["listeners.tcp.NAME"].values()))
    if "listeners.ssl" not in given:
        config.ssl = tuple(dict.fromkeys(given.get(tls_options.LISTENERS, {}).values()))
    config.stream_tcp, config.stream_ssl = stream_options.tcp(given), stream_options.ssl(given)
    config.unix = tuple(given.get("listeners.unix.NAME", {}).values())
    mechanisms = given.get("auth_mechanisms.N")
    if mechanisms:
        settings.auth_mechanisms = tuple(mechanisms[n] for n in sorted(mechanisms, key=lambda n: (len(n), n)))
    if "default_user_tags.TAG" in given:
        settings.default_user_tags = tuple(tag for tag, wanted in given["default_user_tags.TAG"].items() if wanted)
    if "loopback_users" in given:
        settings.loopback_users = frozenset()
    elif "loopback_users.USER" in given:
        users = given["loopback_users.USER"]
        settings.loopback_users = frozenset(user for user, only_loopback in users.items() if only_loopback)
    config.definitions = tuple(dict.fromkeys(given[key][""] for key in DEFINITIONS if key in given))
    settings.seeds_defaults = not config.definitions
    configure_, write, read = (
        given.get(f"default_permissions.{permission}", {}).get("", default)
        for permission, default in zip(("configure", "write", "read"), settings.default_permissions, strict=True)
    )
    settings.default_permissions = (configure_, write, read)
    faults = [*new_vhosts.gather(settings, given, config.assignments), *external.find_faults(config.assignments)]
    config.warnings += external.find_oddities(
        settings.auth_mechanisms,
        has_tls=bool(config.ssl or config.stream_ssl),
        has_plain=bool(config.tcp or config.unix or config.stream_tcp),
    )
    config.management, management_faults = management_options.gather(given, config.assignments)
    config.tls, tls_faults = tls_options.gather(given, config.assignments)
    faults += [*tls_faults, *management_faults]
    if faults:
        raise ConfigError(faults)


def _set_trusted_proxies(config: Config, given: Mapping[str, dict[str, Any]]) -> None:
    """Choose whose PROXY headers are believed; nobody's without `proxy_protocol = true`."""
    trusted = given.get("proxy_protocol.trusted.N", {})
    if given.get("proxy_protocol", {}).get(""):
        config.trusted_proxies = tuple(dict.fromkeys(trusted.values()))
        if not trusted:
            # Differs from RabbitMQ: it believes whoever connects.
            place = next(each for each in config.assignments if each.key == "proxy_protocol")
            raise ConfigError([_describe(place, NO_TRUSTED_PROXY)])
    elif trusted:
        config.warnings.append("proxy_protocol.trusted has no effect without proxy_protocol = true")


def _set_limits(config: Config, given: Mapping[str, dict[str, Any]]) -> None:
    """Choose between the relative and the absolute form of each limit; note what a start is to warn about."""
    marks = config.settings.watermarks
    for limit, (relative, absolute) in LIMITS.items():
        forms = [f"{limit}.absolute", f"{limit}.relative"]
        octets, fraction = (given.get(form, {}).get("") for form in forms)
        if octets is not None or fraction is not None:
            setattr(marks, absolute, octets)
            setattr(marks, relative, fraction if octets is None else None)
        if octets is not None and fraction is not None:
            # RabbitMQ's warning to the letter.
            places = [each.where for each in config.assignments if each.key in forms]
            config.warnings.append(
                f"Both {forms[0]} and {forms[1]} are configured. {forms[0]} has precedence ({', '.join(places)})"
            )
    if marks.paging_ratio > PAGING_RATIO_CAREFUL:
        why = (
            "contents are never paged out"
            if marks.paging_ratio > 1
            else "publishers may be blocked before paging has freed memory"
        )
        config.warnings.append(f"vm_memory_high_watermark_paging_ratio = {marks.paging_ratio}: {why}")


def _describe(assignment: Assignment, sentence: str) -> str:
    if assignment.where.startswith("--"):
        return f"{assignment.where} {assignment.value}: {sentence}"
    # A password must not end up in a terminal's history or a supervisor's log.
    value = "..." if is_secret(assignment.key) and not assignment.file else assignment.shown[:80]
    if assignment.file:
        sentence = sentence.partition(":")[0]  # behind it may be a part of the value
    return f"{assignment.where}: {assignment.key} = {value}: {sentence}"
