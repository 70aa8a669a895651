"""The units for systemd, as systemd's own tools judge them."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.sources import ROOT

EXPOSURE_MAX = 1.5
UNITS = ("pybroker.service", "pybroker-web.service")


def analyze(*arguments):
    done = subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_a_unit_and_finds_it_closed(tmp_path, name):
    for each in UNITS:
        text = (ROOT / "etc" / each).read_text()
        (tmp_path / each).write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={sys.executable}", text))
    assert analyze("verify", "--man=no", str(tmp_path / name)) == (0, "")
    code, text = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX * 10:.0f}", str(tmp_path / name))
    assert code == 0, text
