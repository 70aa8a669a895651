"""RabbitMQ's classic configuration, `[{rabbit, [{heartbeat, 60}]}].`, read as assignments of pybroker.conf's keys.

`classic_rules.py` has the settings; `config.py` checks values alike for both forms. Nothing is taken and ignored: each
other setting is refused with its reason, and so is each other application unless it is empty.
"""

import difflib
from collections.abc import Iterator

from pybroker.daemon.config.classic.classic_rules import RULES, Wrong, pair
from pybroker.daemon.config.classic.erlang_terms import Term, read_term
from pybroker.daemon.config.classic.erlang_tokens import TermsError
from pybroker.daemon.config.conf_file import PROBLEMS_MAX, Assignment
from pybroker.daemon.config.rabbitmq_keys import find_application_reason, find_classic_reason


def parse_classic(octets: bytes, name: str) -> tuple[list[Assignment], list[str]]:
    """Return the assignments in the octets of the file `name`, and a sentence per setting that is refused."""
    try:
        term = read_term(octets)
    except TermsError as error:
        return [], [f"{name}:{error.line}: column {error.column}: {error}"]
    assignments: list[Assignment] = []
    problems: list[str] = []
    first: dict[str, int] = {}  # the line of each setting, and of each key that one became
    taken: dict[str, int] = {}
    for key, value, line in _settings(term, problems, name):
        if key in first:
            problems.append(f"{name}:{line}: {key} is already set in line {first[key]}")
            continue
        first[key] = line
        if key not in RULES:
            problems.append(f"{name}:{line}: {_explain(key)}")
            continue
        try:
            given = list(RULES[key](key, value))
        except Wrong as wrong:
            # A password must not end up in a terminal's history or a supervisor's log.
            found = "" if key in {"default_pass", "ssl_options"} else f", found {_shortened(wrong.term)}"
            problems.append(f"{name}:{wrong.term.line}: {key}: {wrong}{found}")
            continue
        for each in given:
            where = f"{name}:{each.term.line}"
            if each.refused:
                problems.append(f"{where}: {each.key} is {each.refused}")
            elif each.key in taken:
                problems.append(f"{where}: {each.key} is already set in line {taken[each.key]}")
            else:
                taken[each.key] = each.term.line
                assignments.append(Assignment(each.key, each.value, where))
    if len(problems) >= PROBLEMS_MAX:
        problems.append(f"{name}:{term.line}: too many faults, the rest is not checked")
    return assignments, problems


def _settings(term: Term, problems: list[str], name: str) -> Iterator[tuple[str, Term, int]]:
    """Yield key, value and line of rabbit's settings; add faults around them to the problems.

    It ends when there are `PROBLEMS_MAX` of them.
    """
    if not isinstance(term.value, list):
        problems.append(f"{name}:{term.line}: expected [{{rabbit, [...]}}]., found {_kind(term)}")
        return
    for application in term.value:
        if len(problems) >= PROBLEMS_MAX:
            return
        found = pair(application)
        if found is None or not isinstance(found[1].value, list):
            problems.append(f"{name}:{application.line}: expected {{rabbit, [...]}}, found {_kind(application)}")
        elif found[0] == "rabbit":
            for setting in found[1].value:
                if len(problems) >= PROBLEMS_MAX:
                    return
                key_and_value = pair(setting)
                if key_and_value is None:
                    problems.append(f"{name}:{setting.line}: expected {{key, value}}, found {_kind(setting)}")
                else:
                    yield *key_and_value, setting.line
        elif found[1].value:
            # Sample files have a list for each application, without anything in it.
            problems.append(f"{name}:{application.line}: {_explain_application(found[0])}")


def _explain(key: str) -> str:
    reason = find_classic_reason(key)
    if reason is not None:
        return f"{key} is {reason}"
    near = difflib.get_close_matches(key, RULES, 1, 0.6)
    return f"unknown key {key}" + (f"; did you mean {near[0]}?" if near else "; pybroker.conf(5) lists all keys")


def _explain_application(name: str) -> str:
    reason = find_application_reason(name)
    if reason is not None:
        return f"{name} is {reason}"
    return f"unknown application {name}" + (
        "; did you mean rabbit?" if difflib.get_close_matches(name, ["rabbit"]) else ""
    )


def _kind(term: Term) -> str:
    """Return what a term is, without what is in it: that may be a password."""
    match term.value:
        case list() | tuple():
            return f"a {'list' if isinstance(term.value, list) else 'tuple'} of {len(term.value)}"
        case str() | bytes():
            return "a string" if isinstance(term.value, str) else "a binary"
    return str(term)


def _shortened(term: Term) -> str:
    written = str(term)
    return written if len(written) <= 40 else f"{written[:40]}..."
