import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest

from pybroker.control import commands
from pybrokerctl.command_line import LOCAL_NAMES, find
from pybrokerctl.help import man_page, usage

PAGE = Path(__file__).resolve().parents[3] / "man/pybrokerctl.1"


def test_the_page_is_what_the_specifications_say(ctl):
    assert PAGE.read_text() == man_page.page(), "write it anew: pybrokerctl --man-page > man/pybrokerctl.1"
    assert ctl("--man-page") == (0, man_page.page(), "")


def test_every_command_has_its_section_in_order():
    names = [line.split()[1].replace(r"\-", "-") for line in PAGE.read_text().splitlines() if line.startswith(".SS")]
    assert names == [*LOCAL_NAMES, *commands.NAMES]


@pytest.mark.parametrize("name", [*LOCAL_NAMES, *commands.NAMES])
def test_the_section_of_a_command_says_what_its_help_says(name):
    command = find(name)
    said = man_page.section(command).replace(r"\-", "-").replace(r"\&", "").replace(r"\e", "\\")
    explained = re.findall(r"^\.TP\n\.B (.*)\n(.*)$", said, re.MULTILINE)
    helped = usage.command_help(command, StringIO()).partition("General Options")[0]
    assert f"{command.summary}.\n" in said
    assert f"{command.summary}.\n" in helped
    own = [(label, text) for label, text in usage.arguments(command) if (label, text) not in man_page.COMMON]
    assert explained == [*own, *((column.name, column.help) for column in command.columns), *command.verdicts]
    words = "|".join([*(word for word, _ in command.verdicts), "Message Size", r"\S+"])
    told = re.findall(r"^(\S.*)\n\t(.*)$", helped, re.MULTILINE)
    assert usage.arguments(command) == told
    assert re.findall(rf"^   ({words}) +(.*)$", helped, re.MULTILINE) == explained[len(own) :]


def test_roff_sees_nothing_but_text():
    assert man_page.escape("a-b\\c") == r"a\-b\ec"
    assert man_page.escape(".TH") == r"\&.TH"
    assert man_page.escape("'x") == r"\&'x"


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("name", ["pybrokerctl.1", "pybroker-control.7"])
def test_groff_has_nothing_to_complain_about(name):
    command = ["groff", "-man", "-Tutf8", "-ww", "-z", str(PAGE.parent / name)]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stderr == ""
