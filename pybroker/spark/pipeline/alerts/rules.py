"""Rules: the file `rules.toml` in the warehouse says which rows raise an alert, whom to tell, and what queues owe."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from pybroker.spark.pipeline.failure import BAD_DATA, FailureError
from pybroker.spark.pipeline.jobs import REPORTS
from pybroker.text import duration, row_condition

FILE: Final = "rules.toml"
# Rows whose verdict is bad news.
BAD: Final = "bad"
CLEAR_AFTER_S: Final = 900
SHARE: Final = 0.99


class Alert(NamedTuple):
    """Rows of `report` that meet the condition `when` for `after_s` seconds."""

    report: str
    when: str = BAD
    after_s: int = 0


class Target(NamedTuple):
    """Limits in seconds that queues, by patterns with * and ?, are to keep for this share of the time."""

    queue: str
    vhost: str = "*"
    head_age_s: float | None = None
    time_to_consume_s: float | None = None
    share: float = SHARE


class Rules(NamedTuple):
    """The file, read."""

    alerts: tuple[Alert, ...]
    targets: tuple[Target, ...] = ()
    clear_after_s: int = CLEAR_AFTER_S
    prometheus: Path | None = None
    webhook: str | None = None
    webhook_header_file: Path | None = None


USUAL: Final = (
    Alert("backlog"),
    Alert("alarms", "ended_by==still set"),
    Alert("consumers", "ongoing==true"),
    Alert("forecast"),
    Alert("slo"),
)


def load(warehouse: Path) -> Rules | None:
    """Return the rules of a warehouse; None if it has none. Raises FailureError with the place of what is wrong."""
    path = warehouse / FILE
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise FailureError(f"{path}: {error}", BAD_DATA) from None
    try:
        return _rules(found)
    except ValueError as error:
        raise FailureError(f"{path}: {error}", BAD_DATA) from None


def _rules(found: Mapping[str, Any]) -> Rules:
    known = {"alert", "target", "clear_after", "prometheus", "webhook", "webhook_header_file"}
    _check_keys(found, known, "")
    webhook = found.get("webhook")
    if webhook is not None and (urlsplit(webhook).scheme not in {"http", "https"} or not urlsplit(webhook).hostname):
        raise ValueError(f"webhook must be an address with http or https, not '{webhook}'")
    files = {name: Path(found[name]) for name in ("prometheus", "webhook_header_file") if name in found}
    for name, path in files.items():
        if not path.is_absolute():
            raise ValueError(f"{name} must be a whole path, not '{path}'")
    return Rules(
        tuple(map(_alert, found.get("alert", ()))) or USUAL,
        tuple(map(_target, found.get("target", ()))),
        seconds(found.get("clear_after", CLEAR_AFTER_S), "clear_after"),
        files.get("prometheus"),
        webhook,
        files.get("webhook_header_file"),
    )


def _alert(found: Mapping[str, Any]) -> Alert:
    _check_keys(found, {"report", "when", "after"}, "alert: ")
    report, when = found.get("report"), found.get("when", BAD)
    if report not in REPORTS:
        raise ValueError(f"alert: report must be one of {', '.join(REPORTS)}, not '{report}'")
    if when not in {BAD, row_condition.ANY}:
        try:
            row_condition.split(when)
        except ValueError as error:
            raise ValueError(f"alert: when {error}") from None
    return Alert(report, when, seconds(found.get("after", 0), "alert: after"))


def _target(found: Mapping[str, Any]) -> Target:
    _check_keys(found, {"queue", "vhost", "head_age", "time_to_consume", "share"}, "target: ")
    limits = {
        f"{name}_s": seconds(found[name], f"target: {name}")
        for name in ("head_age", "time_to_consume")
        if name in found
    }
    share = found.get("share", SHARE)
    if not limits or "queue" not in found:
        raise ValueError("target: needs queue, and head_age or time_to_consume")
    if not isinstance(share, float) or not 0 < share < 1:
        raise ValueError(f"target: share must be a number between 0 and 1, not {share}")
    return Target(str(found["queue"]), str(found.get("vhost", "*")), share=share, **limits)


def _check_keys(found: Mapping[str, Any], known: set[str], place: str) -> None:
    for name in found:
        if name not in known:
            raise ValueError(f"{place}there is no key {name}: {', '.join(sorted(known))}")


def seconds(value: Any, place: str) -> int:
    """Return the seconds that `90s`, `1h30m` or a whole number means. Raises ValueError."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    ms = duration.milliseconds(str(value))
    if ms is None or ms % 1_000:
        raise ValueError(f"{place} must be a duration of whole seconds, for example 90s or 1h30m; not '{value}'")
    return ms // 1_000
