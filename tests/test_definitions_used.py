"""Nothing is defined that only tests use: such a definition is deleted, or given its use.

A name counts as used where it is read as a variable of its own module or imported from there, read as an attribute of
anything, or written in a string without a blank: tables of names, `__all__`. Foreign libraries call methods of classes
derived from theirs, and functions that their decorators register: these count as well. A name of several things is used
if one of them is, so this finds the plain cases only.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.sources import PACKAGES, ROOT, Source, report, sources

Function = ast.FunctionDef | ast.AsyncFunctionDef
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# They name entry points, and what the C codec looks up.
ASIDE = ("setup.py", "pyproject.toml", "pybroker/wire/_codec.c", "pybroker/spark/parse/_deliveries.c")
# Interfaces of libraries as their manuals have them: most of their callers are not in this tree.
MANUALS = {"pybroker.client": "man/pybroker-client.7", "pybroker.testing": "man/pybroker-testing.7"}
# Their classes and decorators say what something is; they call nothing.
DESCRIBING = {"abc", "builtins", "collections", "contextlib", "dataclasses", "enum", "functools", "types", "typing"}


class Definition(NamedTuple):
    """A public name that a module or a class binds; `path` has the classes around it."""

    source: Source
    node: ast.stmt
    path: str
    name: str


def children(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from children(node.body)


def definitions(source: Source, body: list[ast.stmt], path: str = "") -> Iterator[Definition]:
    for node in children(body):
        names = []
        if isinstance(node, Function | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not path:
            names = [node.target.id]
        yield from (Definition(source, node, path, name) for name in names if not name.startswith("_"))
        if isinstance(node, ast.ClassDef) and not is_foreign(source, *node.bases):
            yield from definitions(source, node.body, f"{path}{node.name}.")


@cache
def imported(source: Source) -> dict[str, str]:
    """Return what the names are that this module imports."""
    return {item.target.rpartition(".")[2]: item.target for item in source.imports()}


def is_foreign(source: Source, *expressions: ast.expr) -> bool:
    """Tell whether one of these bases or decorators is a library's that calls what it is given."""
    roots = (re.match(r"\w+", ast.unparse(each)) for each in expressions)
    tops = (imported(source).get(root[0], "builtins").split(".")[0] for root in roots if root)
    return any(top not in {*PACKAGES, *DESCRIBING} for top in tops)


def reads(node: ast.AST) -> Counter[tuple[str, str]]:
    """Count the names that are read in a tree, as (kind, name): `name`, `attribute` or `word`, of a string."""
    found: Counter[tuple[str, str]] = Counter()
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Load()):
                found["name", name] += 1
            case ast.Attribute(attr=name, ctx=ast.Load()):
                found["attribute", name] += 1
            case ast.Constant(value=str() as text) if " " not in text:
                found.update(("word", word) for word in IDENTIFIER.findall(text))
    return found


def surface(source: Source) -> frozenset[str]:
    """Return the names that are there for others to use."""
    texts = [(ROOT / page).read_text() for library, page in MANUALS.items() if source.name.startswith(library)]
    return frozenset(IDENTIFIER.findall("".join(texts).replace(r"\-", "-")))


def test_no_definition_is_used_by_tests_alone():
    of_modules = {source.name: reads(source.tree) for source in sources()}
    everywhere = sum(of_modules.values(), Counter())
    everywhere.update(("word", word) for name in ASIDE for word in IDENTIFIER.findall((ROOT / name).read_text()))
    imports = {item.target for source in sources() for item in source.imports()}
    findings = []
    for source in sources():
        for _, node, path, name in definitions(source, source.tree.body):
            own = reads(node)
            used = any(everywhere[kind, name] > own[kind, name] for kind in ("attribute", "word"))
            used |= of_modules[source.name]["name", name] > own["name", name]
            used |= not path and f"{source.name}.{name}" in imports
            used |= is_foreign(source, *getattr(node, "decorator_list", ()))
            if not used and name not in surface(source):
                findings.append(f"{source.where}:{node.lineno} {path}{name} is used by nothing but tests.")
    report(findings)
