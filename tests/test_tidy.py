"""Taste in CI rather than in review: sizes, names, docstrings, mirrors, and nothing that is dead or ignored."""

import ast
import io
import re
import textwrap
import tokenize
import tomllib
from collections.abc import Iterable, Iterator

import pytest

from pybroker.core.settings import Settings
from tests.sources import PACKAGES, ROOT, Source, report, sources, sources_of_tests

# Docstrings, comments and blank lines are free: a limit that counted them would be met by squeezing them out.
FILE_LINES_MAX = 330
FUNCTION_LINES_MAX = 60
HOT_FUNCTION_LINES_MAX = 120
HOT_FUNCTIONS_MAX = 5
# A loop that must be inlined says so with the measurement that asks for it.
HOT_MARK = re.compile(r"# tidy: hot, \S.*\d")
BANNED_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}

# Tested by running the program (tests/test_packaging.py), or by whoever uses the constant.
NO_MIRROR = {"pybroker.daemon.__main__", "pybroker.spark.pipeline.__main__", "pybrokerctl.__main__", "pybroker.version"}
NO_MIRROR.add("pybroker.testing.__main__")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(source: Source) -> Iterator[Function]:
    return (n for n in source.nodes if isinstance(n, Function))


def lines_of(source: Source, function: Function) -> int:
    """Return how many lines of a function have code on them."""
    lines = source.text.splitlines(keepends=True)[function.lineno - 1 : function.end_lineno]
    # To count lines of code takes a while: most functions have fewer of all kinds.
    return len(lines) if len(lines) <= FUNCTION_LINES_MAX else code_lines(textwrap.dedent("".join(lines)))


def is_hot(source: Source, function: Function) -> bool:
    """Tell whether the line of `def`, or the one above it, carries the mark with a measurement."""
    lines = source.text.splitlines()
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    return any(HOT_MARK.search(line) for line in lines[max(0, first - 2) : function.body[0].lineno])


NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """Return how many lines of a module have code on them."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return len(lines)


def test_code_lines_are_counted_without_what_explains_them():
    text = '"""Two\nlines."""\n\nx = 1  # one\n# none\n\ndef f():\n    """Say."""\n    return """a\nb"""\n'
    assert code_lines(text) == 4


def test_lines_of_a_function_are_counted_without_what_explains_them():
    explained = "    def f():\n" + '        """Say."""\n' + "        # why\n\n" * FUNCTION_LINES_MAX + "        x = 1\n"
    text = f"class A:\n{explained}"
    source = Source("f", ROOT / "f.py", text, ast.parse(text))
    (function,) = functions(source)
    assert lines_of(source, function) == 2


def test_no_file_is_too_long():
    findings = []
    for source in (*sources(), *sources_of_tests()):
        text = source.text
        # To count lines of code takes a while: most files have fewer of all kinds.
        if text.count("\n") > FILE_LINES_MAX and (lines := code_lines(text)) > FILE_LINES_MAX:
            findings.append(f"{source.where} has {lines} lines of code, {FILE_LINES_MAX} is the most: two nouns?")
    report(findings)


def test_no_function_is_too_long():
    findings = []
    for source in sources():
        for function in functions(source):
            most = HOT_FUNCTION_LINES_MAX if is_hot(source, function) else FUNCTION_LINES_MAX
            if (lines := lines_of(source, function)) > most:
                where = f"{source.where}:{function.lineno} {function.name}"
                findings.append(f"{where} has {lines} lines of code, {most} is the most.")
    report(findings)


def test_hot_functions_are_few():
    hot = [
        f"{source.where} {function.name}"
        for source in sources()
        for function in functions(source)
        if is_hot(source, function)
    ]
    assert len(hot) <= HOT_FUNCTIONS_MAX, f"only {HOT_FUNCTIONS_MAX} functions may be long because they are hot: {hot}"


def test_no_file_is_named_after_nothing():
    report(
        [
            f"{source.where}: say what the file is about; `{part}` says nothing."
            for source in sources()
            for part in source.name.split(".")
            if part in BANNED_NAMES
        ]
    )


# They say nothing of what is done, and a search for one finds all.
VAGUE_NAMES = {"look", "take", "tell", "go_on", "keep"}
# Taking seqs from a log is its term.
VAGUE_ALLOWED = {("Log", "take")}


def vague_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each public function or method whose name says nothing of what it does."""
    for owner in nodes:
        kinds = set()
        if isinstance(owner, ast.ClassDef):
            kinds = {owner.name, *map(ast.unparse, owner.bases)}
        elif not isinstance(owner, ast.Module):
            continue
        allowed = {name for kind, name in VAGUE_ALLOWED if kind in kinds}
        for node in owner.body:
            if isinstance(node, Function) and node.name in VAGUE_NAMES - allowed:
                yield node.lineno, node.name


@pytest.mark.parametrize("name", sorted(VAGUE_NAMES))
def test_a_vague_name_is_found(name):
    sample = [
        f"def {name}(): ...",
        "class A:",
        f" def _{name}(self): ...",
        f" def {name}_it(self): ...",
        f" def {name}(self): ...",
    ]
    assert [(1, name), (5, name)] == list(vague_names(ast.walk(ast.parse("\n".join(sample)))))


def test_a_log_takes_seqs():
    sample = ["class Log:", " def take(self): ...", "class B(Log):", " def take(self): ...", " def keep(self): ..."]
    assert [(5, "keep")] == list(vague_names(ast.walk(ast.parse("\n".join(sample)))))


def test_public_functions_say_what_they_do():
    report(
        [
            f"{source.where}:{line} is named {name}: say what it does."
            for source in sources()
            for line, name in vague_names(source.nodes)
        ]
    )


def undocumented(source: Source, node: ast.AST, path: str = "") -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or child.name.startswith("_"):
            continue
        overrides = any(
            isinstance(d, ast.Name | ast.Attribute) and ast.unparse(d).endswith(("override", "overload", ".setter"))
            for d in child.decorator_list
        )
        if ast.get_docstring(child) is None and not overrides:
            yield f"{source.where}:{child.lineno} {path}{child.name} has no docstring."
        if isinstance(child, ast.ClassDef):
            yield from undocumented(source, child, f"{path}{child.name}.")


# Of a content's frames: size of the header frame's payload, body size, where the properties begin.
CONTENT_OFFSETS = ((3, 7), (11, 19), (19, None))
# They scan or cut contents themselves, and a call for each message would cost more than the work.
CONTENT_READERS = ("pybroker.content_view", "pybroker.wire.content", "pybroker.spark.parse.deliveries")


def test_contents_are_read_in_one_place():
    findings = []
    for source in sources():
        if source.name in CONTENT_READERS:
            continue
        for node in source.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
                lower, upper = (getattr(end, "value", None) for end in (node.slice.lower, node.slice.upper))
                if (lower, upper) in CONTENT_OFFSETS or lower == CONTENT_OFFSETS[-1][0]:
                    findings.append(f"{source.path}:{node.lineno} reads a content's octets: ask pybroker.content_view")
    report(findings)


def test_public_things_have_docstrings():
    findings = [f"{source.where} has no docstring." for source in sources() if ast.get_docstring(source.tree) is None]
    for source in sources():
        findings += undocumented(source, source.tree)
    report(findings)


SENTENCE_END = re.compile(r"(?<=[.!?])[\"')`]*\s+|\n\n")
PRONOUN = re.compile(r"(What|Whatever|Where|Wherever|Who|Whoever|Whom|Whose|Those|That)\b")


def docstrings(source: Source) -> Iterator[tuple[int, str]]:
    for node in source.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | Function) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, text


def comments(source: Source) -> Iterator[tuple[int, str]]:
    """Yield each comment with lines of its own, as one text."""
    for block in re.finditer(r"(?:^[ \t]*#.*\n)+", source.text, re.MULTILINE):
        line = source.text.count("\n", 0, block.start()) + 1
        yield line, " ".join(each.strip().lstrip("#: ") for each in block[0].splitlines())


def test_texts_name_their_subjects():
    """A sentence may ask with these words, but opens with none of them to stand for a noun."""
    findings = []
    for source in (*sources(), *sources_of_tests()):
        for line, text in (*docstrings(source), *comments(source)):
            for sentence in SENTENCE_END.split(text):
                opening = PRONOUN.match(sentence)
                if opening and not sentence.endswith("?"):
                    findings.append(f"{source.where}:{line} opens a sentence with {opening[1]}: name the thing.")
    report(findings)


def test_no_bare_except():
    report(
        [
            f"{source.where}:{node.lineno} catches everything: name what it expects."
            for source in sources()
            for node in source.nodes
            if isinstance(node, ast.ExceptHandler) and node.type is None
        ]
    )


def test_no_blanket_noqa():
    report(
        [
            f"{source.where}:{number} silences every rule: name the one and its reason."
            for source in sources()
            for number, line in enumerate(source.text.splitlines(), 1)
            if re.search(r"#\s*noqa(?!:)|#\s*type:\s*ignore(?!\[)", line)
        ]
    )


def test_nothing_is_unfinished():
    # A base class's method that a subclass answers raises NotImplementedError; a note to oneself is no code.
    report(
        [
            f"{source.where}:{number} is a note to oneself: build it, or take it to an issue."
            for source in sources()
            for number, line in enumerate(source.text.splitlines(), 1)
            if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line)
        ]
    )


def has_mirror(parts: list[str]) -> bool:
    """Tell whether a test mirrors the module: tests/core/test_topic.py, or tests/core/exchange/test_topic.py."""
    name = f"test_{parts[-1]}.py"
    if parts[0] == "pybrokerctl":
        return any((ROOT / "tests/ctl").rglob(name))
    if len(parts) == 2:
        return (ROOT / "tests" / name).exists()
    return any((ROOT / "tests" / parts[1]).rglob(name))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_has_a_test_that_mirrors_it(package):
    findings = []
    for source in sources():
        parts = source.name.split(".")
        empty = source.is_package and not any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in source.tree.body)
        if parts[0] != package or empty or source.name in NO_MIRROR:
            continue
        if not has_mirror(parts):
            findings.append(f"{source.where}: no test_{parts[-1]}.py in the folder that mirrors it.")
    report(findings)


def is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_module_is_dead():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    used = {entry.partition(":")[0] for entry in project["scripts"].values()}
    used |= set(project["entry-points"]["pytest11"].values())
    # setup.py installs it under the name by which Spark looks for it.
    used.add("pybroker.spark.discovery")
    for source in sources():
        used |= {target for target, _ in source.imported_modules}
        # One that is run as a program of its own is named in full.
        used |= {node.value for node in source.nodes if is_string(node)}
        if source.is_package:
            # A table of names in the package says which modules are loaded when they are needed.
            used |= {f"{source.name}.{node.value}" for node in source.nodes if is_string(node)}
    findings = []
    for source in sources():
        name = source.name
        if source.is_package or name.endswith(".__main__"):  # a package lives through what is in it
            continue
        if name not in used:
            findings.append(f"{source.where} is imported by nothing.")
    report(findings)


def test_no_setting_is_ignored():
    # An option that is accepted and has no effect is worse than one that is refused.
    read = {node.attr for source in sources() for node in source.nodes if is_load(node)}
    report([f"Settings.{name} is read by nothing." for name in Settings.__dataclass_fields__ if name not in read])


def is_load(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
