"""Each requirement that is built has a test which quotes its number (tests/requirements.txt).

`python tests/test_requirements.py` lists every number with the tests that quote it.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.sources import report

TESTS = Path(__file__).resolve().parent
NUMBER = re.compile(r"\b([A-G][1-9][0-9]?)\b")
IN_A_NAME = re.compile(r"(?<=_)([a-g][1-9][0-9]?)(?=_|$)")


class Requirement(NamedTuple):
    """A behaviour promised: number, `built`, `later` or `none`, and a few words."""

    number: str
    state: str
    words: str


def requirements() -> list[Requirement]:
    lines = (TESTS / "requirements.txt").read_text().splitlines()
    return [Requirement(*line.split(maxsplit=2)) for line in lines if line and not line.startswith("#")]


def spans(tree: ast.Module, lines: list[str]) -> dict[int, str]:
    """Return line -> test, for the lines of every test function and of the comments right above it."""
    owner = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name.lower().startswith("test"):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            while first > 1 and lines[first - 2].lstrip().startswith("#"):
                first -= 1
            owner |= dict.fromkeys(range(first, node.end_lineno + 1), node.name)
    return owner


def quoted_in(path: Path) -> dict[str, set[str]]:
    """Return number -> tests of this file that quote it in their name, a comment or a docstring."""
    text = path.read_text()
    if path.name == "test_requirements.py" or not (NUMBER.search(text) or IN_A_NAME.search(text)):
        return {}
    tree = ast.parse(text, str(path))
    owner = spans(tree, text.splitlines())
    found: dict[str, set[str]] = defaultdict(set)
    for name in set(owner.values()):
        for number in IN_A_NAME.findall(name):
            found[number.upper()].add(name)
    # Docstrings are looked at as syntax: any other string may hold what looks like a number.
    docs = {
        node.body[0].lineno + offset: line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None
        for offset, line in enumerate((ast.get_docstring(node, clean=False) or "").splitlines())
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            docs[token.start[0]] = docs.get(token.start[0], "") + token.string
    for line, words in docs.items():
        for number in NUMBER.findall(words):
            if line in owner:
                found[number].add(owner[line])
    return found


@cache
def quoted() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(TESTS.rglob("test_*.py")):
        for number, tests in quoted_in(path).items():
            found[number] |= {f"{path.relative_to(TESTS)}::{test}" for test in tests}
    return found


def test_every_built_requirement_has_a_test():
    tests = quoted()
    report(
        [
            f"{number} is built and no test quotes it: {words}."
            for number, state, words in requirements()
            if state == "built" and number not in tests
        ]
    )


def test_every_number_quoted_is_a_requirement():
    known = {requirement.number for requirement in requirements()}
    report(
        [
            f"{min(tests)} quotes {number}, which is no requirement."
            for number, tests in quoted().items()
            if number not in known
        ]
    )


def test_requirements_are_numbered_without_gaps():
    numbers = [requirement.number for requirement in requirements()]
    by_section: dict[str, list[int]] = defaultdict(list)
    for number in numbers:
        by_section[number[0]].append(int(number[1:]))
    assert {section: list(range(1, len(found) + 1)) for section, found in by_section.items()} == by_section
    assert {state for _, state, _ in requirements()} <= {"built", "later", "none"}


if __name__ == "__main__":
    tests_of = quoted()
    for requirement in requirements():
        where = ", ".join(sorted(tests_of.get(requirement.number, ()))) or "-"
        print(f"{requirement.number:4} {requirement.state:6} {requirement.words}\n     {where}")
