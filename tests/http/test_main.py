"""The command pybroker-web without a node; tests/daemon/test_web.py has it with one."""

import subprocess
import sys

COMMAND = [sys.executable, "-m", "pybroker.http.main"]


def test_it_waits_for_the_node_until_its_input_ends(folder):
    process = subprocess.Popen(
        [*COMMAND, "--socket", str(folder / "none.web"), "--until-eof"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        process.wait(1)
        raise AssertionError("it did not wait")
    except subprocess.TimeoutExpired:
        pass
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")


def test_its_help_names_its_options():
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True, timeout=60)
    assert {"--socket", "--node", "--until-eof"} <= set(done.stdout.split())
