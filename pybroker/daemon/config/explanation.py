"""One key explained: its meaning, the values it takes, the value in effect and its source, RabbitMQ's equivalent.

The meanings are those of pybroker.conf(5), from which `meanings.txt` is made (`python -m tests.man_keys`).
"""

import textwrap
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pybroker.daemon.config.classic.classic_rules import RULES
from pybroker.daemon.config.conf_file import Assignment
from pybroker.daemon.config.config import Config
from pybroker.daemon.config.environment import HIDDEN, effective
from pybroker.daemon.config.keys import KEYS, NEW_NODE, RELOAD, RESTART, explain_unknown, find_key, is_secret, replaces
from pybroker.daemon.config.values import Parser

WIDTH: Final = 100
OURS: Final = "This key is specific to pybroker"
CHANGES: Final = {
    RELOAD: "reload: pybrokerctl config_reload, or SIGHUP",
    RESTART: "restart of the node",
    NEW_NODE: "new node: only the first start of a node reads it",
}
# Values that no parser takes, each for its kind: what they say then is what they expect.
_PROBES: Final = ("\0", "", "(", "none")
# RabbitMQ's classic settings that are named otherwise than our keys.
_CLASSIC: Final = {
    "listeners.tcp": "tcp_listeners",
    "log.dir": "log_root",
    "quorum_queue": "quorum_relaxed_checks_on_redeclaration",
    "log.file": "log",
    "log.console": "log",
    "definitions": "definitions",
}
_NOT_CLASSIC: Final = {"log.file.formatter", "log.console.formatter"}


class Meaning(NamedTuple):
    """An entry of pybroker.conf(5)."""

    form: str
    text: str


class UnknownKeyError(ValueError):
    """There is no such key; the text says why, or which one was meant."""


@cache
def meanings() -> dict[str, Meaning]:
    """Return the meaning of each of KEYS."""
    text = Path(__file__).with_name("meanings.txt").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {key: Meaning(form, meaning) for key, form, meaning in rows}


def explain(key: str, config: Config) -> dict[str, Any]:
    """Return all there is to say about a key, with a `message`. Raises UnknownKeyError."""
    found = find_key(key)
    if found is None:
        raise UnknownKeyError(explain_unknown(key))
    name = found[0]
    meaning, schema = meanings()[name], KEYS[name]
    rows = [row for row in effective(config) if row.key == key or (find_key(row.key) or ("",))[0] == name == key]
    keys = {key, *(row.key for row in rows)}
    document = {
        "key": key,
        "meaning": meaning.text,
        "form": meaning.form,
        "range": expected(schema.parse, meaning.form),
        "default": schema.default,
        "values": [row._asdict() for row in rows],
        "overridden": [_hidden(each) for each in config.overridden if any(replaces(each.key, one) for one in keys)],
        "change": schema.change,
        "rabbitmq": equivalent(name),
    }
    return {**document, "message": "\n".join(_lines(document))}


def _hidden(each: Assignment) -> dict[str, str]:
    value = HIDDEN if is_secret(each.key) and not each.file else each.shown
    return {"key": each.key, "value": value, "source": each.where}


def expected(parse: Parser, form: str) -> str:
    """Return the values that a parser takes, in its own words and with the words of the form; nothing if all."""
    for probe in _PROBES:
        try:
            parse(probe)
        except ValueError as error:
            text = str(error).removeprefix("expected ").partition(" (RE2):")[0]
            words = [word for word in form.split(" | ") if word.islower() and word not in text]
            return ", or ".join([text, *words])
    return ""


def equivalent(name: str) -> str:
    """Return how RabbitMQ names a key of KEYS, and in its classic form."""
    text = meanings()[name].text
    if OURS in text:
        other = text.partition(OURS)[2].partition(".")[0].lstrip("; ")
        return f"none; {other}" if other else "none"
    head = name.partition(".")[0]
    stem = next((each for each in (name.rpartition(".")[0], head) if each in _CLASSIC), "")
    setting = _CLASSIC.get(stem or name, head)
    if setting not in RULES or name in _NOT_CLASSIC:
        return "the same key"
    return f"the same key; in the classic form the setting {setting}"


def _lines(document: dict[str, Any]) -> list[str]:
    lines = [f"{document['key']} = {document['form']}", "", textwrap.fill(document["meaning"], WIDTH), ""]
    if document["range"]:
        lines.append(f"Values: {document['range']}")
    lines.append(f"Default: {document['default'] or '(none)'}")
    lines += [f"In effect: {_line(row)}" for row in document["values"]] or ["In effect: (not set)"]
    lines += [f"Overridden: {_line(row)}" for row in document["overridden"]]
    lines.append(f"A change needs: {CHANGES[document['change']]}")
    lines.append(f"RabbitMQ: {document['rabbitmq']}")
    return lines


def _line(row: dict[str, str]) -> str:
    return f"{row['key']} = {row['value']} ({row['source']})"
