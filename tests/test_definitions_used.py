"""Nothing is defined that only tests use: such a definition is deleted, or given its use.

A name counts as used where it is read as a variable of its own module or imported from there, read as an attribute of
anything, or written in a string without a blank: tables of names, `__all__`. Foreign libraries call methods of classes
derived from theirs, and functions that their decorators register: these count as well. A name of several things is used
if one of them is, so this finds the plain cases only.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.sources import PACKAGES, ROOT, Source, report, sources

Function = ast.FunctionDef | ast.AsyncFunctionDef
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
# They name entry points, and what the C codec looks up.
ASIDE = (
    "setup.py",
    "pyproject.toml",
    "pybroker/wire/_codec.c",
    "pybroker/wire/amqp10/_contents.c",
    "pybroker/wire/stream/_entries.c",
    "pybroker/spark/parse/_deliveries.c",
)
# Interfaces of libraries as their manuals have them: most of their callers are not in this tree.
MANUALS = {"pybroker.client": "man/pybroker-client.7", "pybroker.testing": "man/pybroker-testing.7"}
KINDS = ("name", "attribute", "word")
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
    return {item.target.rpartition(".")[2]: item.target for item in source.imports}


def is_foreign(source: Source, *expressions: ast.expr) -> bool:
    """Tell whether one of these bases or decorators is a library's that calls what it is given."""
    roots = (re.match(r"\w+", ast.unparse(each)) for each in expressions)
    tops = (imported(source).get(root[0], "builtins").split(".")[0] for root in roots if root)
    return any(top not in {*PACKAGES, *DESCRIBING} for top in tops)


def reads(source: Source) -> dict[tuple[str, str], list[int]]:
    """Return the lines in which names are read, by (kind, name): `name`, `attribute` or `word`, of a string."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in source.nodes:
        match each:
            case ast.Name(id=name, ctx=ast.Load()):
                found["name", name].append(each.lineno)
            case ast.Attribute(attr=name, ctx=ast.Load()):
                found["attribute", name].append(each.lineno)
            case ast.Constant(value=str() as text) if " " not in text:
                for word in IDENTIFIER.findall(text):
                    found["word", word].append(each.lineno)
    return found


@cache
def surface(library: str) -> frozenset[str]:
    """Return the names that a library has for others to use."""
    return frozenset(IDENTIFIER.findall((ROOT / MANUALS[library]).read_text().replace(r"\-", "-")))


def is_offered(source: Source, name: str) -> bool:
    return any(name in surface(library) for library in MANUALS if source.name.startswith(library))


def test_no_definition_is_used_by_tests_alone():
    of_modules = {source.name: reads(source) for source in sources()}
    everywhere: Counter[tuple[str, str]] = Counter()
    for found in of_modules.values():
        everywhere.update({key: len(lines) for key, lines in found.items()})
    everywhere.update(("word", word) for name in ASIDE for word in IDENTIFIER.findall((ROOT / name).read_text()))
    imports = {item.target for source in sources() for item in source.imports}
    findings = []
    for source in sources():
        here = of_modules[source.name]
        for _, node, path, name in definitions(source, source.tree.body):
            decorators = getattr(node, "decorator_list", [])
            own = range(min([node.lineno, *(each.lineno for each in decorators)]), node.end_lineno + 1)
            inside = {kind: sum(line in own for line in here.get((kind, name), ())) for kind in KINDS}
            used = any(everywhere[kind, name] > inside[kind] for kind in ("attribute", "word"))
            used |= len(here.get(("name", name), ())) > inside["name"]
            used |= not path and f"{source.name}.{name}" in imports
            used |= is_foreign(source, *decorators)
            if not used and not is_offered(source, name):
                findings.append(f"{source.where}:{node.lineno} {path}{name} is used by nothing but tests.")
    report(findings)
