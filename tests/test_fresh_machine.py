"""The README's two commands on a machine that has nothing: slow, and only where root can build one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fresh_machine.sh")
NEEDED = ("git", "debootstrap", "unshare", "setpriv")
TIMEOUT_S = 5_400


def why_not() -> str:
    """Return why no minimal Debian can be built here, empty if one can."""
    if os.geteuid():
        return "only root can make another root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"no {', '.join(missing)} here" if missing else ""


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_both_commands_work_on_a_minimal_debian(suite):
    assert subprocess.run(["bash", SCRIPT, suite], check=False, timeout=TIMEOUT_S).returncode == 0
