"""The daemon of an ordinary user: the places that it takes, and those that are not permitted."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.daemon.running import WAIT_S

# Root may do everything; as root the daemon's code is loaded first, for nobody may not read it everywhere.
AS_NOBODY = """
import os, sys
import difflib, platformdirs, gevent.threadpool, gevent.resolver.thread
import pybroker.daemon.boot, pybroker.core.auth.permissions
from pybroker.control import commands
from pybroker.daemon.main import execute
# A checkout below /root is not for an ordinary user to read.
for name in commands.IN_NEED:
    commands.load(name)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(execute(sys.argv[1:]))
"""


@pytest.fixture
def locked(tmp_path):
    """Return a folder that an ordinary user may neither read nor write."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o000)
    yield folder
    folder.chmod(0o700)


@pytest.fixture
def home():
    """Return a folder that nobody may write."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
        yield Path(folder)


@pytest.mark.parametrize(
    ("option", "what"),
    [
        ("--data-dir", "cannot use the data folder"),
        ("--log", "cannot write the log"),
        ("--config", "cannot read the configuration file"),
        ("--socket", "cannot listen on the control socket"),
    ],
)
def test_a_place_that_is_not_permitted_is_one_line_and_77(option, what, locked, home):
    given = {"--port": "0", "--data-dir": str(home / "data"), "--socket": str(home / "s"), option: str(locked / "x")}
    argv = [word for pair in given.items() for word in pair]
    command, environ = [sys.executable, "-c", AS_NOBODY, *argv], {**os.environ, "HOME": str(home)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=WAIT_S, env=environ)
    assert (done.returncode, done.stderr) == (77, f"pybroker: {what} {locked}/x: Permission denied\n")
    assert done.stdout == ""
    assert not (home / "s").exists()


def test_an_ordinary_user_gets_places_of_his_own(home):
    names = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "PATH": "/root"}
    daemon = subprocess.Popen(
        [sys.executable, "-c", AS_NOBODY, "--port", "0"], stdout=subprocess.PIPE, text=True, env=names
    )
    try:
        places = {}
        for line in daemon.stdout:
            label, _, places[label] = line.rstrip("\n").partition(": ")
            if label == "next":
                break
        node = places["node"]
        assert places["data folder"] == str(home / ".local/share/pybroker")
        assert places["log"] == str(home / f".local/state/pybroker/log/{node}.log")
        assert places["control socket"] == str(home / f"run/pybroker/{node}.sock")
        daemon.terminate()
        assert daemon.wait(WAIT_S) == 0
    finally:
        daemon.kill()
        daemon.communicate()
