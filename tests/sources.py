"""The project's own sources as syntax trees, for the tests that read rather than run it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("pybroker", "pybrokerctl")


@dataclass(frozen=True)
class Import:
    """One imported name: `target` is a module or module.name; `typing_only` if it stands under TYPE_CHECKING."""

    target: str
    line: int
    typing_only: bool


@dataclass(frozen=True)
class Source:
    """One module: its dotted name (a package's is the package's own), path, text and tree."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def where(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def imports(self) -> Iterator[Import]:
        """Yield what this module imports, at whatever depth the statement stands."""
        yield from _imports(self, self.tree, typing_only=False)


def _imports(source: Source, node: ast.AST, *, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (Import(alias.name, child.lineno, typing_only) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = module or ""
                if level:
                    above = source.name.split(".")
                    above = above[: len(above) - level + source.is_package]
                    base = ".".join([*above, *filter(None, [module])])
                yield from (Import(f"{base}.{alias.name}", child.lineno, typing_only) for alias in names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for statement in child.body:
                    yield from _imports(source, ast.Module([statement], []), typing_only=True)
                for statement in child.orelse:
                    yield from _imports(source, ast.Module([statement], []), typing_only=typing_only)
            case _:
                yield from _imports(source, child, typing_only=typing_only)


def _read(folder: str) -> Iterator[Source]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text()
        yield Source(name, path, text, ast.parse(text, str(path)))


@cache
def sources() -> tuple[Source, ...]:
    """Return every module of both packages, by name."""
    return tuple(source for package in PACKAGES for source in _read(package))


@cache
def sources_of_tests() -> tuple[Source, ...]:
    """Return every module of the tests, by name."""
    return tuple(_read("tests"))


@cache
def module_names() -> frozenset[str]:
    return frozenset(source.name for source in sources())


def imported_modules(source: Source) -> Iterator[tuple[str, Import]]:
    """Yield (module of ours or top-level foreign name, import): `a.b.Name` counts as `a.b` if `a.b` is a module."""
    ours = module_names()
    for item in source.imports():
        target = item.target
        while target not in ours and "." in target:
            target = target.rpartition(".")[0]
        yield (target if target in ours else item.target.split(".")[0]), item


def report(findings: list[str]) -> None:
    """Fail with one sentence a line, or pass."""
    assert not findings, f"{len(findings)} to mend:\n" + "\n".join(f"  {finding}" for finding in findings)
