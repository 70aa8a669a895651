"""A call costs less than a tenth of a second: by what it loads, since a stopwatch tells of the machine's other work."""

import subprocess
import sys

import pytest

from pybroker.control import commands

# Milliseconds each, and nothing that every call needs.
HEAVY = {
    *(
        "asyncio",
        "click",
        "concurrent.futures",
        "dataclasses",
        "difflib",
        "email",
        "gevent",
        "getpass",
        "http",
        "logging",
        "re2",
    ),
    *(
        "importlib.metadata",
        "multiprocessing",
        "pamqp",
        "platform",
        "rich",
        "shutil",
        "ssl",
        "subprocess",
        "tempfile",
        "unittest",
    ),
}
LOADED = """
import sys
before = set(sys.modules)
from pybrokerctl.main import main
code = main({words!r})
print("loaded:", *sorted(set(sys.modules) - before))
"""


def loaded_by(*words: str) -> set[str]:
    """Return the modules that a call loads besides what Python itself does."""
    script = LOADED.format(words=[*words, "--socket", "/none"])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.rpartition("loaded: ")[2].split())


@pytest.mark.parametrize("formatter", ["table", "json", "csv", "pretty_table"])
@pytest.mark.parametrize("name", ["ping", "list_queues", "status", "add_vhost v"])
def test_a_call_loads_nothing_heavy(name, formatter):
    loaded = loaded_by(*name.split(), "--formatter", formatter)
    assert "pybrokerctl.client" in loaded
    assert {module for module in loaded if {module, module.partition(".")[0]} & HEAVY} == set()
    found = {place for place in commands.PLACES if f"pybroker.control.commands.{place}" in loaded}
    assert [place.rpartition(".")[2] for place in found] == name.split()[:1]
