"""The project's own sources as syntax trees, for the tests that read rather than run it."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
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

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return every node of the tree. To find them takes as long as to parse, and a dozen tests ask."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Return what this module imports, at whatever depth the statement stands, from top to bottom."""
        typed = [node for node in self.nodes if isinstance(node, ast.If) and is_type_checking(node.test)]
        typing_only = {id(each) for node in typed for statement in node.body for each in ast.walk(statement)}
        found = sorted((n for n in self.nodes if isinstance(n, ast.Import | ast.ImportFrom)), key=lambda n: n.lineno)
        return tuple(
            Import(f"{self._base(node)}{alias.name}", node.lineno, id(node) in typing_only)
            for node in found
            for alias in node.names
        )

    @cached_property
    def imported_modules(self) -> tuple[tuple[str, Import], ...]:
        """Return (module of ours or top-level foreign name, import): `a.b.Name` counts as `a.b` if it is a module."""
        return tuple((_module_of(item.target), item) for item in self.imports)

    def _base(self, node: ast.Import | ast.ImportFrom) -> str:
        """Return what stands in front of each name that a statement imports: nothing, or a module and a dot."""
        if isinstance(node, ast.Import):
            return ""
        above = self.name.split(".")
        above = above[: len(above) - node.level + self.is_package] if node.level else []
        return ".".join([*above, *filter(None, [node.module]), ""])


def is_type_checking(test: ast.expr) -> bool:
    """Tell whether a condition is TYPE_CHECKING."""
    return isinstance(test, ast.Name | ast.Attribute) and "TYPE_CHECKING" in {
        getattr(test, "id", ""),
        getattr(test, "attr", ""),
    }


def _module_of(target: str) -> str:
    ours, module = module_names(), target
    while module not in ours and "." in module:
        module = module.rpartition(".")[0]
    return module if module in ours else target.split(".", maxsplit=1)[0]


def _read(*folders: str) -> Iterator[Source]:
    for path in (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text()
        yield Source(name, path, text, ast.parse(text, str(path)))


def _kept(*folders: str) -> tuple[Source, ...]:
    """Read folders, with their nodes, out of the garbage collector's sight: none is let go of before the end."""
    gc.disable()
    try:
        found = tuple(_read(*folders))
        for source in found:
            assert source.nodes
    finally:
        gc.enable()
    gc.freeze()
    return found


@cache
def sources() -> tuple[Source, ...]:
    """Return every module of both packages, by name."""
    return _kept(*PACKAGES)


@cache
def sources_of_tests() -> tuple[Source, ...]:
    """Return every module of the tests, by name."""
    return _kept("tests")


@cache
def module_names() -> frozenset[str]:
    return frozenset(source.name for source in sources())


def report(findings: list[str]) -> None:
    """Fail with one sentence a line, or pass."""
    assert not findings, f"{len(findings)} to mend:\n" + "\n".join(f"  {finding}" for finding in findings)
