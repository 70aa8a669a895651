"""Two configurations compared: what runs, and what the files say now; and what a reload makes of both.

A value set at run time by pybrokerctl stays unless the files say another value than before.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Final, NamedTuple

from pybroker.core.resources.resource_limits import ResourceLimits
from pybroker.core.settings import Settings
from pybroker.daemon.config import tls_options
from pybroker.daemon.config.config import Config, ConfigError, configure
from pybroker.daemon.config.environment import Row, effective, in_force
from pybroker.daemon.config.keys import KEYS, LIMITS, RELOAD, RESTART, find_key, replaces

# How a difference takes effect, beside RELOAD, RESTART and NEW_NODE: not at all, the value was set at run time.
KEPT: Final = "kept"
SAME: Final = "same"
# Places and names that a running node has settled, and the values that commands set; the rest is taken from a Config.
_SETTLED: Final = {"cluster_name", "set_at_run_time", "watermarks"}
_MEASURED: Final = {"measured", "total"}


class Change(NamedTuple):
    """A key with another value in the files: as shown, None for none; where both are from, and what a change needs."""

    key: str
    running: str | None
    files: str | None
    running_source: str
    files_source: str
    change: str


def compare(running: Config, wanted: Config, *, everything: bool = False) -> list[Change]:
    """Return the keys whose values differ, or all of them. Names `wanted` after the node."""
    wanted.name_node(wanted.node_name or running.settings.node_name)
    return [each for each in _changes(running, wanted) if everything or each.change != SAME]


def _changes(running: Config, wanted: Config) -> Iterator[Change]:
    before, after = ({row.key: row for row in in_force(config)} for config in (running, wanted))
    shown_before, shown_after = ({row.key: row for row in effective(config)} for config in (running, wanted))
    kept = _unchanged(running, wanted)
    for key in dict.fromkeys((*before, *after)):
        was, will = shown_before.get(key), shown_after.get(key)
        if _is_same(before.get(key), after.get(key)):
            change = SAME
        else:
            change = KEPT if any(replaces(one, key) for one in kept) else _change(key, running, wanted)
        values = was.value if was else None, will.value if will else None
        yield Change(key, *values, was.source if was else "", will.source if will else "", change)


def change_of(key: str) -> str:
    """Return how a change of a key takes effect."""
    found = find_key(key)
    assert found is not None, key
    return KEYS[found[0]].change


def _change(key: str, running: Config, wanted: Config) -> str:
    """Return how a change of a key takes effect here: options of TLS stay with the listeners that need them."""
    if running.tls is not None and wanted.tls is None and key.startswith(tls_options.HEAD):
        return RESTART
    return change_of(key)


def _unchanged(running: Config, wanted: Config) -> set[str]:
    """Return the keys that were set at run time and for which the files say the same as before."""
    return {key for key in running.settings.set_at_run_time if _said(running, key) == _said(wanted, key)}


def _said(config: Config, key: str) -> set[tuple[str, str]]:
    return {(each.key, each.value) for each in config.assignments if replaces(key, each.key)}


def _is_same(before: Row | None, after: Row | None) -> bool:
    if before is None or after is None or before.value == after.value:
        return before is after or (before is not None and after is not None)
    parse = KEYS[(find_key(before.key) or ("",))[0]].parse
    try:
        return parse(before.value) == parse(after.value)
    except ValueError:
        return False  # set at run time, in words of its own


def reloaded(running: Config, wanted: Config) -> Config:
    """Return what a reload makes of both: all that needs no restart as it is wanted, the rest as it runs.

    Raises:
        ConfigError: the two do not go together; a restart would do it.

    """
    mixed = [each for each in running.assignments if _change(each.key, running, wanted) != RELOAD]
    mixed += [each for each in wanted.assignments if _change(each.key, running, wanted) == RELOAD]
    try:
        target = configure(mixed)
    except ConfigError as error:
        why = "with those changes that need a restart left out"
        raise ConfigError([f"{problem} ({why})" for problem in error.problems]) from None
    target.name_node(running.settings.node_name)
    target.options, target.overridden = wanted.options, wanted.overridden
    target.settings.config_files = wanted.settings.config_files
    unchanged = _unchanged(running, wanted)
    for key, value in running.settings.set_at_run_time.items():
        if key in unchanged or change_of(key) != RELOAD:
            target.settings.set_at_run_time[key] = value
            for owner, name in _attributes(key):
                setattr(_owner(target, owner), name, getattr(_owner(running, owner), name))
    return target


def take_over(running: Config, target: Config) -> None:
    """Have all values of `target`, which `reloaded` has made; cannot fail."""
    for each in fields(Config):
        if each.name != "settings":
            setattr(running, each.name, getattr(target, each.name))
    settings, new = running.settings, target.settings
    for each in fields(Settings):
        if each.name not in _SETTLED:
            setattr(settings, each.name, getattr(new, each.name))
    for name in ResourceLimits.__slots__:
        if name not in _MEASURED:
            setattr(settings.watermarks, name, getattr(new.watermarks, name))
    settings.set_at_run_time = new.set_at_run_time


def _attributes(key: str) -> list[tuple[str, str]]:
    """Return which attributes a value set at run time is in, each with its owner."""
    stem = key.rpartition(".")[0]
    if stem in LIMITS:
        return [("watermarks", name) for name in LIMITS[stem]]
    if key == "loopback_users":
        return [("settings", key)]
    attribute = KEYS[key].attribute
    return [("config", attribute[1:]) if attribute.startswith(".") else ("settings", attribute)]


def _owner(config: Config, name: str) -> object:
    return {"config": config, "settings": config.settings, "watermarks": config.settings.watermarks}[name]
