"""Each entry has a situation, in which its commands are run one after the other. A command that fails says so here."""

import inspect
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

from tests.ctl.live_node import LiveNode
from tests.ports import free_port
from tests.runbook import situations

PAGE = (Path(__file__).parents[2] / "man/pybroker-runbook.7").read_text().replace(r"\-", "-")
PROGRAMS = ("pybrokerctl", "curl")
SITUATIONS = {
    module.SYMPTOM: module
    for module in (import_module(f"{situations.__name__}.{each.name}") for each in iter_modules(situations.__path__))
}


def entries() -> dict[str, list[str]]:
    """Return the commands of each entry, by its symptom."""
    parts = re.split(r"^\.SS (.+)$", PAGE, flags=re.MULTILINE)[1:]
    titles, texts = parts[::2], parts[1::2]
    assert len(set(titles)) == len(titles)
    return {
        title.strip('"'): [
            line.replace(r"\e", "\\").strip()
            for block in re.findall(r"^\.EX\n(.*?)^\.EE$", text, re.MULTILINE | re.DOTALL)
            for line in block.splitlines()
        ]
        for title, text in zip(titles, texts, strict=True)
    }


def curl(words: list[str], port: int) -> subprocess.CompletedProcess[str]:
    """Run curl against the node's HTTP API, as soon as that is there, with the password that it would ask for."""
    words = [word.replace("http://localhost:15672/", f"http://localhost:{port}/") for word in words]
    words[words.index("-u") + 1] += ":guest"
    patient = ["--fail", "--silent", "--show-error", "--retry", "60", "--retry-delay", "1", "--retry-connrefused"]
    return subprocess.run(["curl", *patient, *words], capture_output=True, text=True, check=False, timeout=120)


@contextmanager
def situation(module: ModuleType, node: LiveNode) -> Iterator[None]:
    """Bring a node into it, and let what it needs go afterwards."""
    prepared = module.prepare(node)
    if not inspect.isgenerator(prepared):
        yield
        return
    next(prepared)
    try:
        yield
    finally:
        prepared.close()


def test_each_entry_has_a_situation_and_commands() -> None:
    assert SITUATIONS.keys() == entries().keys()
    assert [title for title, commands in entries().items() if not commands] == []


@pytest.mark.parametrize("symptom", sorted(entries()))
def test_commands_run(symptom: str) -> None:
    lines = entries()[symptom]
    port = free_port() if any(line.startswith("curl ") for line in lines) else 0
    if port and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    with tempfile.TemporaryDirectory(prefix="book") as folder:
        node = LiveNode(Path(folder), api_port=port)
        try:
            with situation(SITUATIONS[symptom], node):
                for line in lines:
                    program, *words = shlex.split(line)
                    assert program in PROGRAMS, line
                    done = node.ctl(*words) if program == "pybrokerctl" else curl(words, port)
                    assert done.returncode == getattr(SITUATIONS[symptom], "FAILS", {}).get(line, 0), (
                        f"{line}: {done.stdout}{done.stderr}"
                    )
        finally:
            node.end()
