"""The keys as pybroker.conf(5) explains them: the source of what `pybrokerctl config_explain` says.

python -m tests.man_keys    writes them into the package
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "man/pybroker.conf.5"
MEANINGS = ROOT / "pybroker/daemon/config/meanings.txt"

_MACRO = re.compile(r"\.(BR|RB|BI|IB|IR|RI|B|I) +(.*)")
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_CHARACTERS = {r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\&": ""}


def meanings() -> str:
    """Return a line for each key, in the order of the page: the key, the form of its value, what it means."""
    return "".join("\t".join(row) + "\n" for row in _rows(PAGE.read_text()))


def _rows(page: str) -> Iterator[tuple[str, str, str]]:
    keys = page[page.index("\n.SH KEYS\n") : page.index("\n.SH CLASSIC FORM\n")]
    for entry in re.split(r"\n\.TP\n", keys)[1:]:
        lines = re.split(r"\n\.(?:SS|SH) ", entry)[0].splitlines()
        heads = [lines.pop(0)]
        while lines[0] == ".TQ":
            heads.append(lines[1])
            del lines[:2]
        text = plain(lines)
        for head in heads:
            key, _, form = plain([head]).partition(" = ")
            yield key, form, text


def plain(lines: list[str]) -> str:
    """Return lines of a manual page without their markup."""
    words = []
    for line in lines:
        text = line
        if macro := _MACRO.fullmatch(line):
            parts = [quoted or bare for quoted, bare in _WORD.findall(macro[2])]
            text = ("" if len(macro[1]) == 2 else " ").join(parts)
        elif line.startswith("."):
            continue
        words.append(text)
    text = re.sub(r"\\f[A-Z]", "", " ".join(words))
    for written, character in _CHARACTERS.items():
        text = text.replace(written, character)
    return text


if __name__ == "__main__":
    MEANINGS.write_text(meanings())
