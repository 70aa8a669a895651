"""Documents speak of what there is: manual pages, the example configuration, the map, the change log, references."""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from tests.sources import ROOT, Source, report, sources

# The trees that people read.
TREES = ("pybroker", "pybrokerctl", "etc", "man", "tests")


def command_names() -> list[str]:
    from pybroker.control import commands

    return [*commands.NAMES, *commands.INTERNAL]


def test_command_table_equals_directory():
    files = {path.stem for path in (ROOT / "pybroker/control/commands").rglob("*.py")} - {"__init__"}
    assert sorted(command_names()) == sorted(files)


def test_every_command_is_in_the_man_page():
    # The page of the protocol has the commands that only the two programs use.
    pages = "".join((ROOT / "man" / name).read_text() for name in ("pybrokerctl.1", "pybroker-control.7"))
    pages = pages.replace(r"\-", "-")
    report([f"no man page describes the command {name}." for name in command_names() if name not in pages])


def test_every_command_has_a_test():
    tested = {path.stem for path in (ROOT / "tests/control").rglob("test_*.py")}
    report([f"no test_{name}.py below tests/control." for name in command_names() if f"test_{name}" not in tested])


def test_every_exit_code_of_a_start_is_in_the_man_page():
    section = (ROOT / "man/pybroker.8").read_text().partition("\n.SH EXIT STATUS\n")[2].partition("\n.SH ")[0]
    told = {int(code) for code in re.findall(r"^\.B (\d+)$", section, re.MULTILINE)}
    nodes = [node for source in sources() if source.name.startswith("pybroker.daemon.") for node in source.nodes]
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refused"]
    # The code of a refused command is what pybrokerctl exits with.
    refused = {each for call in calls for each in ast.walk(call)}
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute) and node not in refused}
    given = {getattr(os, name) for name in names if name.startswith("EX_")}
    assert given >= {os.EX_OK, os.EX_DATAERR, os.EX_IOERR}
    assert told == given | {130}
    unit = (ROOT / "etc/pybroker.service").read_text()
    lasting = {int(code) for code in re.findall(r"\d+", unit.partition("RestartPreventExitStatus=")[2].split("\n")[0])}
    assert lasting == given - {os.EX_OK, os.EX_UNAVAILABLE, os.EX_CANTCREAT, os.EX_IOERR}


def config_keys() -> list[str]:
    from pybroker.daemon.config import keys

    return list(keys.KEYS)


@pytest.mark.parametrize("place", ["etc/pybroker.conf", "man/pybroker.conf.5"])
def test_every_config_key_is_explained(place):
    text = (ROOT / place).read_text().replace(r"\-", "-")
    report([f"{place} does not explain {key}." for key in config_keys() if key not in text])


def test_architecture_speaks_of_what_exists():
    text = (ROOT / "pybroker/ARCHITECTURE.md").read_text()
    # The table of a package names its rooms alone.
    places = [ROOT, *(ROOT / "pybroker" / room for room in ("", "core", "core/queue", "store"))]
    findings = []
    for name in re.findall(r"`((?:[a-z0-9_]+/)+(?:[a-z0-9_]+(?:\.[a-z]+)?)?)", text):
        path = name.removesuffix("/")
        if not any((place / path).exists() or (place / f"{path.split('.')[0]}.py").exists() for place in places):
            findings.append(f"ARCHITECTURE.md speaks of {name}, which does not exist.")
    for package in sorted((ROOT / "pybroker").rglob("__init__.py")):
        folder = package.parent.relative_to(ROOT / "pybroker")
        section = folder.parent.name == "commands"
        if folder.parts and not section and not re.search(rf"`(?:[a-z]+/)*{folder.name}/`", text):
            findings.append(f"ARCHITECTURE.md does not say what {folder}/ is for.")
    report(findings)


def test_no_reference_leads_out_of_the_repository():
    """Name the specification or a file of this tree: nobody who reads the code has other papers."""
    names = {path.name for path in ROOT.rglob("*.md")}
    findings = []
    for path in sorted((*ROOT.glob("*.md"), *(each for top in TREES for each in (ROOT / top).rglob("*")))):
        if path.suffix in {".py", ".md", ".c", ".sh"}:
            for number, line in enumerate(path.read_text().splitlines(), 1):
                missing = [name for name in re.findall(r"\b[a-z][a-z-]*\.md\b", line) if name not in names]
                missing += re.findall(r"\([A-H][0-9]{1,2}\)", line) if (ROOT / "tests") not in path.parents else []
                findings += [f"{path}:{number} speaks of {name}, which is not here" for name in missing]
    report(findings)


def test_changelog_has_unreleased():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "\n## [Unreleased]\n" in text, "CHANGELOG.md keeps what is not released yet under `## [Unreleased]`"


def test_every_deviation_is_in_the_man_page_and_in_the_code():
    # Every entry of the page names, in a comment of its own, the file that carries the mark.
    page = (ROOT / "man/pybroker-amqp.7").read_text()
    told = Counter(re.findall(r'^\.\\" marked in (\S+)$', page, re.MULTILINE))
    marked = Counter({s.where: s.text.count("# Differs from RabbitMQ") for s in sources()})
    report(
        [
            f"{where} marks {marked[where]} deviations from RabbitMQ, man/pybroker-amqp.7 tells {told[where]} of them."
            for where in sorted({*told, *marked})
            if told[where] != marked[where]
        ]
    )


LOG_CALLS = {"debug", "info", "warning", "error", "critical", "exception", "log"}


def literals(node: ast.expr, tree: ast.Module) -> list[str] | None:
    """Return the strings an expression stands for: a literal, one of two, or a value of a table of the module."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp(body=ast.Constant(value=str(one)), orelse=ast.Constant(value=str(other))):
            return [one, other]
        case ast.Subscript(value=ast.Name(id=table)):
            for each in tree.body:
                if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == table:
                    assert isinstance(each.value, ast.Dict)
                    return [value.value for value in each.value.values if isinstance(value, ast.Constant)]
        case ast.Name(id="BUG"):
            return ["internal.error"]
    return None


def logs_in_the_daemon() -> Iterator[Source]:
    apart = ("pybroker.client", "pybroker.spark", "pybroker.testing")
    return (s for s in sources() if s.name.startswith("pybroker.") and not s.name.startswith(apart))


@cache
def event_ids() -> tuple[dict[str, str], list[str]]:
    """Return the ids of the log's events, each with a place that has it, and what is wrong with some calls."""
    found: dict[str, str] = {}
    findings = []
    for source in logs_in_the_daemon():
        for node in source.nodes:
            if not isinstance(node, ast.Call):
                continue
            call, where, ids = ast.unparse(node.func), f"{source.where}:{node.lineno}", None
            owner, _, name = call.rpartition(".")
            if owner == "log" and name in LOG_CALLS and not any(each.arg == "extra" for each in node.keywords):
                findings.append(f"{where}: give the line an id: extra=event(...).")
            elif call == "event" or (name in {"info", "warn"} and (owner.endswith("broker") or call == "warn")):
                ids = literals(node.args[0], source.tree)
                if ids is None:
                    findings.append(f"{where}: write the id of the event as a literal.")
            for each in ids or ():
                found[each] = where
                if not re.fullmatch(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+", each):
                    findings.append(f"{where}: {each} is no id.")
    return found, findings


def test_every_line_of_the_log_has_an_id():
    report(event_ids()[1])


def test_every_event_of_the_log_is_in_the_man_page():
    page = (ROOT / "man/pybroker.8").read_text().replace(r"\-", "-")
    told = set(re.findall(r'^\.TP\n\.BR (\S+) " \(\w+\)"$', page, re.MULTILINE))
    found = event_ids()[0]
    to_alert_on = page.partition(".SH LOG EVENTS")[2].partition(".SS ")[0]
    named = set(re.findall(r"\b[a-z]+(?:\.[a-z_]+)+\b", to_alert_on))
    assert len(named) > 20
    report(
        [
            *[f"man/pybroker.8 names {each} for alerts, which nothing logs." for each in sorted(named - found.keys())],
            *[f"{found[each]}: man/pybroker.8 does not explain {each}." for each in sorted(found.keys() - told)],
            *[f"man/pybroker.8 explains {each}, which nothing logs." for each in sorted(told - found.keys())],
        ]
    )
