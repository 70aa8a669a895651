"""Modules of the interface that need no document, run by node."""

import json
import shutil
import subprocess

import pytest

from tests.http.interface.sources import FOLDER, SCRIPTS, pages

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node on this machine")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the value of an expression of JavaScript over the names that a module exports."""
    folder = tmp_path_factory.mktemp("modules") / "static"
    shutil.copytree(FOLDER, folder)
    # Without it node takes them for scripts.
    (folder / "package.json").write_text('{"type": "module"}')

    def evaluate(module: str, names: str, expression: str) -> object:
        script = f"import {{ {names} }} from {json.dumps((folder / module).as_uri())};"
        script += f"process.stdout.write(JSON.stringify({expression}))"
        command = [NODE, "--no-warnings", "--input-type=module", "-e", script]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return evaluate


# Reads modules, as texts by name, and writes what is wrong with each.
PARSE = """
import fs from "node:fs";
import vm from "node:vm";
const faults = {};
for (const [name, text] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8"))))
    try {
        new vm.SourceTextModule(text);
    } catch (error) {
        faults[name] = String(error);
    }
process.stdout.write(JSON.stringify(faults));
"""


def test_scripts_can_be_read():
    command = [NODE, "--no-warnings", "--experimental-vm-modules", "--input-type=module", "-e", PARSE]
    done = subprocess.run(command, input=json.dumps(SCRIPTS), capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("{}", "")


def test_figures_are_shown_as_people_read_them(run):
    shown = run(
        "lib/format.js",
        "count, octets, rate, lasting, counted",
        "[count(1234567), count(undefined), octets(0), octets(1536), octets(1 << 30), rate(0), rate(0.25),"
        " rate(1234.4), lasting(0), lasting(999), lasting(61000), lasting(86400000 * 3 + 3600000), counted(1, 'queue'),"
        " counted(2, 'queue')]",
    )
    assert shown == [
        *("1,234,567", "\u2013", "0 B", "1.5 KiB", "1 GiB", "0/s", "0.3/s", "1,234/s"),
        *("0 s", "< 1 s", "1 min 1 s", "3 d 1 h", "1 queue", "2 queues"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "a/b",
        "%2F",
        "#?&=",
        "<img src=x onerror=alert(1)>",
        "\u202e\u05e7\u05e8\u05d5\u05d1",
        "q" * 255,
        "\u2028 ",
    ],
)
def test_addresses_come_back_as_they_were(run, name):
    script = f"parse(link('queues', ['/', {json.dumps(name)}], {{ tab: {json.dumps(name)}, page: '' }}))"
    found = run("lib/route.js", "link, parse", script)
    assert found == {"page": "queues", "args": ["/", name], "query": {"tab": name}}


def test_no_address_is_the_first_page(run):
    script = "['', '#', '#/', '#/%zz'].map((one) => parse(one).page)"
    assert run("lib/route.js", "parse", script) == [*[next(iter(pages()))] * 3, "%zz"]


@pytest.mark.parametrize("name", [".", ".."])
def test_requests_for_names_that_browsers_drop_are_not_sent(run, name):
    script = (
        f"(() => {{ try {{ return path`/api/users/${{{json.dumps(name)}}}`; }} catch (e) {{ return e.message; }} }})()"
    )
    assert run("lib/api.js", "path", script) == f"A browser cannot ask for the name “{name}”. Use pybrokerctl for it."
