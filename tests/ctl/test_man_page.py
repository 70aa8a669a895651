import shutil
import subprocess
from pathlib import Path

import pytest

from pybroker.control import commands
from pybrokerctl import man_page, usage

PAGE = Path(__file__).resolve().parents[2] / "man/pybrokerctl.1"


def test_the_page_is_what_the_specifications_say(ctl):
    assert PAGE.read_text() == man_page.page(), "write it anew: pybrokerctl --man-page > man/pybrokerctl.1"
    assert ctl("--man-page") == (0, man_page.page(), "")


def test_every_command_has_its_section_in_order():
    names = [line.split()[1].replace(r"\-", "-") for line in PAGE.read_text().splitlines() if line.startswith(".SS")]
    assert names == [name for name, _ in usage.BUILT_IN] + list(commands.NAMES)


def test_roff_sees_nothing_but_text():
    assert man_page.escape("a-b\\c") == r"a\-b\ec"
    assert man_page.escape(".TH") == r"\&.TH"
    assert man_page.escape("'x") == r"\&'x"


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("name", ["pybrokerctl.1", "pybroker-control.7"])
def test_groff_has_nothing_to_complain_about(name):
    command = ["groff", "-man", "-Tutf8", "-ww", "-z", str(PAGE.parent / name)]
    assert subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stderr == ""
