"""Imports point down, gevent stays above its line, the command-line tool stays light (ARCHITECTURE.md, Layers)."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from tests.sources import ROOT, Source, report, sources

NOUNS = (
    "run",
    "seq_ranges",
    "entries_run",
    "offset_spec",
    "message",
    "content_view",
    "errors",
    "clock",
    "session",
    "version",
    "paths",
    "descriptors",
    "first_octets",
    "peer",
    "tls_facts",
    "log_event",
    "humanize",
    "line_limit",
    "listing",
    "text",
    "verdicts",
)

# From the bottom up; the names of one row are strangers to each other. A module belongs to the longest name that fits.
ROWS: tuple[tuple[str, ...], ...] = (
    ("nouns",),
    ("pybroker.wire", "pybroker.store"),
    ("pybroker.core",),
    ("pybroker.amqp", "pybroker.stream", "pybroker.control"),
    ("pybroker.net", "pybroker.control.server"),
    ("pybroker.daemon",),
)
HEIGHT = {name: height for height, row in enumerate(ROWS) for name in row}

# They stand apart: what each may use, and nothing else of ours. Nothing in the rows uses them.
APART = {
    "pybroker.client": ("nouns", "pybroker.wire"),
    "pybroker.spark": ("nouns", "pybroker.wire", "pybroker.client"),
    "pybroker.testing": ("nouns", "pybroker.control.codec"),
    "pybroker.http": (
        "nouns",
        "pybroker.control.codec",
        "pybroker.control.access",
        # The contexts of HTTPS are those of AMQP over TLS.
        "pybroker.daemon.tls.build",
        "pybroker.daemon.tls.certificate_files",
        "pybroker.daemon.tls.stamps",
        "pybroker.daemon.config.tls_options",
        "pybroker.net.tls_context",
    ),
    "pybrokerctl": (
        "pybroker.control.spec",
        "pybroker.control.codec",
        "pybroker.control.commands",
        "pybroker.control.arguments",
        "pybroker.text",
    ),
}
# Facts all programs must agree on: where the sockets lie, which version this is, which figures there are. None imports
# anything heavy.
METRICS = "pybroker.core.stats.metrics"
SHARED_FACTS = ("pybroker.paths", "pybroker.version")

GEVENT_LINE = ("pybroker.net", "pybroker.http", "pybroker.daemon", "pybroker.control.server")
# Of control/, what runs commands in the daemon; the rest is loaded by both programs.
DAEMONS_CONTROL = (
    "pybroker.control.doors",
    "pybroker.control.execute",
    "pybroker.control.answers",
    "pybroker.control.server",
)
# A client is a program of its own, so it asks the system itself.
CLOCK_READERS = (
    "pybroker.clock",
    "pybroker.daemon",
    "pybroker.net",
    "pybroker.http",
    "pybroker.client",
    "pybroker.spark",
    "pybroker.testing",
    "pybrokerctl",
)
OSERROR_CATCHERS = (
    *GEVENT_LINE,
    "pybroker.store.disk",
    "pybroker.control.identity",
    "pybroker.paths",
    "pybroker.descriptors",
    "pybroker.client",
    "pybroker.spark",
    "pybroker.testing",
    "pybrokerctl",
)
OSERRORS = ("OSError", "IOError", "BlockingIOError", "BrokenPipeError", "ConnectionError", "ConnectionResetError")
OSERRORS += ("FileNotFoundError", "FileExistsError", "PermissionError", "InterruptedError")


def is_inside(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def layer_of(name: str) -> str | None:
    """Return the row entry or the package apart that `name` belongs to; None for `pybroker` itself."""
    if name.startswith("pybroker.") and name.split(".")[1] in NOUNS:
        return "nouns"
    fits = [layer for layer in (*HEIGHT, *APART) if is_inside(name, (layer,))]
    return max(fits, key=len) if fits else None


def judge(source: Source, target: str) -> str | None:
    """Return what is wrong with `source` importing our module `target`, if anything is."""
    here, there = layer_of(source.name), layer_of(target)
    if there is None or here == there:
        return None
    if there in APART and here not in APART:
        return f"{there} stands apart: nothing of the daemon uses it"
    if here in APART:
        allowed = APART[here]
        if there in allowed or is_inside(target, (*allowed, METRICS)) or target in SHARED_FACTS:
            return None
        return f"{here} may use only {', '.join(allowed)}"
    if here is None:
        return "importing the package `pybroker` must load nothing"
    if HEIGHT[there] > HEIGHT[here]:
        return f"an import points down, and {there} lies above {here}"
    if HEIGHT[there] == HEIGHT[here]:
        return f"{there} and {here} share a row and are strangers to each other"
    return None


def test_every_module_has_a_place_in_the_layers():
    report(
        [
            f"{source.where}: belongs to no layer; add its package to ROWS or its name to NOUNS"
            for source in sources()
            if source.name != "pybroker" and layer_of(source.name) is None
        ]
    )


def test_imports_point_down():
    findings = []
    for source in sources():
        for target, item in source.imported_modules:
            if not target.startswith("pybroker"):
                continue
            # A command's file names the nouns it shows for the type checker; at run time it gets them as arguments.
            if item.typing_only and is_inside(source.name, ("pybroker.control.commands", "pybroker.control.objects")):
                continue
            fault = judge(source, target)
            if fault:
                findings.append(f"{source.where}:{item.line} imports {target}: {fault}.")
    report(findings)


def test_commands_load_nothing_of_the_broker_at_run_time():
    findings = []
    for source in sources():
        if not is_inside(source.name, ("pybroker.control",)) or source.name in DAEMONS_CONTROL:
            continue
        # Commands of pybroker-web, which pybrokerctl does not have.
        if is_inside(source.name, ("pybroker.control.commands.web",)):
            continue
        for target, item in source.imported_modules:
            fine = (
                is_inside(target, ("pybroker.control",)) or layer_of(target) == "nouns" or is_inside(target, (METRICS,))
            )
            if target.startswith("pybroker.") and not fine and not item.typing_only:
                findings.append(
                    f"{source.where}:{item.line} loads {target}: pybrokerctl loads this file too, so import it "
                    f"under TYPE_CHECKING."
                )
    report(findings)


def test_gevent_stays_above_its_line():
    report(
        [
            f"{source.where}:{item.line} imports {item.target}: only {', '.join(GEVENT_LINE)} know gevent."
            for source in sources()
            for target, item in source.imported_modules
            if target in {"gevent", "greenlet"} and not is_inside(source.name, GEVENT_LINE)
        ]
    )


def test_nothing_is_monkey_patched():
    report(
        [
            f"{source.where}:{item.line} imports {item.target}: plain threads must stay plain threads."
            for source in sources()
            for _, item in source.imported_modules
            if item.target.startswith("gevent.monkey")
        ]
    )


def test_time_enters_through_the_clock():
    report(
        [
            f"{source.where}:{item.line} imports {item.target}: below the daemon time enters through pybroker.clock."
            for source in sources()
            for target, item in source.imported_modules
            if target == "time" and not is_inside(source.name, CLOCK_READERS)
        ]
    )


def test_oserror_is_caught_only_where_the_system_is_called():
    findings = []
    for source in sources():
        if is_inside(source.name, OSERROR_CATCHERS):
            continue
        for node in source.nodes:
            if isinstance(node, ast.ExceptHandler) and node.type is not None:
                caught = {name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)}
                if caught & set(OSERRORS):
                    findings.append(f"{source.where}:{node.lineno} catches OSError: not its business.")
    report(findings)


# Slots of the core's classes that other modules of the core assign as well. None may join them: what changes a noun is
# a method of it. The first row is hot, a call for each batch would be felt; the rest has not been mended yet.
ASSIGNED_ELSEWHERE = {
    *("delivered", "delivered_ms", "delivered_no_ack", "last_served", "next_tag", "redelivered", "unacked_consumed"),
    *("index", "next_seq"),
    *("acked", "dropped", "expired", "published", "publish_in", "publish_out"),
    *("unreadable", "unroutable_ae_missing"),
    *("ahead", "asked", "asked_ms", "fetching", "found", "fresh", "page", "parts"),
    *("active", "awake", "deleted", "expires_at_ms", "indexes", "overdue", "timed", "timer_ms", "waiting"),
    *("applied", "default_queue_type", "description", "failed", "known_password", "place"),
    *("protected", "tags"),
}
# Nobody in the whole program assigns what this one owns.
COUNTS = "pybroker.core.queue.backlog"


def slots_of(source: Source) -> set[str]:
    """Return the names in the `__slots__` of a module's classes."""
    found: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                match statement:
                    case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                        names = ast.literal_eval(value)
                        found |= {names} if isinstance(names, str) else set(names)
    return found


def assigned_on_others(source: Source) -> Iterator[ast.Attribute]:
    """Yield each attribute that is assigned, or deleted, on anything but `self`."""
    for node in source.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="self")):
                pass
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                yield node


def test_an_attribute_is_assigned_in_the_module_of_its_class():
    slots = {source.name: slots_of(source) for source in sources() if is_inside(source.name, ("pybroker.core",))}
    everywhere = set().union(*slots.values())
    findings, met = [], set()
    for source in sources():
        guarded = everywhere if source.name in slots else slots[COUNTS]
        for node in assigned_on_others(source):
            if node.attr not in guarded or node.attr in slots.get(source.name, ()):
                continue
            met.add(node.attr)
            if node.attr not in ASSIGNED_ELSEWHERE:
                findings.append(f"{source.where}:{node.lineno} assigns `{ast.unparse(node)}`: give its class a method.")
    findings += [f"`{name}` is assigned by its class alone now: strike it off." for name in ASSIGNED_ELSEWHERE - met]
    report(findings)


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after `statement`."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False, timeout=60
    )
    assert not done.returncode, done.stderr
    return set(done.stdout.split())


def test_the_table_of_metrics_loads_nothing():
    ours = {name for name in loaded_by(f"import {METRICS}") if name.startswith("pybroker")}
    above = {"pybroker", "pybroker.core", "pybroker.core.stats"}
    assert above < ours
    assert all(is_inside(name, (METRICS,)) for name in ours - above)


def test_importing_pybroker_has_no_effect():
    assert loaded_by("import pybroker") == {"pybroker"}


def test_the_plugin_of_pytest_loads_nothing_of_ours():
    ours = {name for name in loaded_by("import pytest; import pybroker.testing.plugin") if name.startswith("pybroker")}
    assert ours == {"pybroker", "pybroker.testing", "pybroker.testing.plugin"}


def test_a_test_loads_neither_gevent_nor_the_broker():
    heavy = ("gevent", "greenlet", "ssl", "asyncio", "re2", "pamqp", "psutil", "pybroker.core", "pybroker.wire")
    loaded = loaded_by("import pybroker.testing.broker, pybroker.testing.strict")
    assert [name for name in sorted(loaded) if is_inside(name, heavy)] == []


@pytest.mark.parametrize("module", ["pybrokerctl.main", "pybrokerctl.__main__"])
def test_pybrokerctl_starts_without_gevent_and_the_core(module):
    heavy = ("gevent", "greenlet", "psutil", "re2", "pamqp", "pybroker.core", "pybroker.wire", "pybroker.amqp")
    heavy += ("pybroker.net", "pybroker.daemon", "pybroker.store", *DAEMONS_CONTROL)
    assert [name for name in sorted(loaded_by(f"import {module}")) if is_inside(name, heavy)] == []


@pytest.mark.parametrize(
    "package", ["pybroker.wire", "pybroker.core.broker", "pybroker.amqp.session", "pybroker.stream.session"]
)
def test_the_broker_below_the_line_runs_without_gevent(package):
    assert [name for name in sorted(loaded_by(f"import {package}")) if name.split(".")[0] == "gevent"] == []


# Files of one folder, its `__init__` not counted.
ROOM_FILES_MAX = 15
PACKAGE_FILES_MAX = 20


def test_no_room_is_crowded():
    files = Counter(source.name.rpartition(".")[0] for source in sources() if not source.is_package)
    most = {name: ROOM_FILES_MAX if is_inside(name, ("pybroker.core",)) else PACKAGE_FILES_MAX for name in files}
    report(
        [
            f"{name} has {files[name]} files, {most[name]} is the most: which of them are a room of their own?"
            for name in sorted(files)
            if files[name] > most[name]
        ]
    )


@cache
def packages() -> frozenset[str]:
    return frozenset(source.name for source in sources() if source.is_package)


def room_of(name: str) -> str:
    """Return the folder of core that a module lies in; one that lies in core itself is a room of its own."""
    rooms = packages() - {"pybroker.core"}
    return name if name in rooms or name.rpartition(".")[0] not in rooms else name.rpartition(".")[0]


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Return rooms each of which leads to the next, and the last to the first; none if there are no such."""
    done: set[str] = set()

    def walk(way: list[str]) -> list[str]:
        for room in sorted(edges.get(way[-1], ())):
            if room in way:
                return way[way.index(room) :]
            if room not in done and (found := walk([*way, room])):
                return found
        done.add(way[-1])
        return []

    return next(filter(None, (walk([room]) for room in sorted(edges) if room not in done)), [])


def test_rooms_of_core_form_no_circle():
    loads: dict[str, set[str]] = {}
    names: dict[str, set[str]] = {}
    for source in sources():
        for target, item in source.imported_modules:
            if is_inside(source.name, ("pybroker.core",)) and is_inside(target, ("pybroker.core",)):
                here, there = room_of(source.name), room_of(target)
                if here != there:
                    (names if item.typing_only else loads).setdefault(here, set()).add(there)
    for room in sorted(names):
        print(f"{room} names, for the type checker alone: {', '.join(sorted(names[room] - loads.get(room, set())))}")
    found = circle(loads)
    assert not found, f"rooms of core load each other: {' -> '.join([*found, *found[:1]])}"


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) == []
