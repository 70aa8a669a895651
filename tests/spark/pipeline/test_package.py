"""The zip has all that the connector and the pipeline load, and nothing of the daemon."""

import ast
import subprocess
import sys
import zipfile

import pytest

from pybroker.spark.pipeline import package
from pybroker.spark.pipeline.failure import FailureError
from tests.sources import ROOT


def test_the_zip_is_enough_for_the_program(tmp_path):
    answer = package.make(tmp_path / "p.zip")
    names = zipfile.ZipFile(tmp_path / "p.zip").namelist()
    assert {"pyspark_pybroker.py", "pamqp/commands.py", "platformdirs/unix.py"} <= {*names}
    assert not [name for name in names if name.startswith(("pybroker/daemon", "pybroker/store"))]
    metrics = tuple(f"pybroker/{part}" for part in package.METRICS)
    core = [name for name in names if name.startswith("pybroker/core")]
    assert all(name.startswith(metrics) for name in core)
    assert {part for part in metrics if any(name.startswith(part) for name in core)} == {*metrics}
    assert answer["files"] == len(names)
    # -S and -I: nothing but the standard library and the zip.
    # An ordinary user's folders are asked of platformdirs, root's are not.
    code = f"import os, sys; os.geteuid = lambda: 1000; sys.path.insert(0, {str(tmp_path / 'p.zip')!r});"
    code += "sys.argv = ['run_job.py', '--help'];"
    code += f"exec(open({answer['driver']!r}).read())"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "export" in done.stdout


def test_the_same_sources_make_the_same_zip(tmp_path):
    for name in ("a.zip", "b.zip"):
        package.make(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(FailureError) as caught:
        package.make(tmp_path / "none/p.zip")
    assert (caught.value.text, caught.value.code) == (f"{tmp_path}/none/p.zip: No such file or directory", 69)


def test_code_knows_whether_it_came_in_a_zip(tmp_path):
    assert not package.is_submitted()
    package.make(tmp_path / "p.zip")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'p.zip')!r});"
    code += "from pybroker.spark.pipeline import package; print(package.is_submitted())"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_the_zip_has_every_module_that_its_modules_load(tmp_path):
    package.make(tmp_path / "p.zip")
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        names = [name for name in archive.namelist() if name.startswith("pybroker/")]
        trees = {name: ast.parse(archive.read(name)) for name in names}
    missing = {
        f"{name}: {node.module}.{one.name}"
        for name, tree in trees.items()
        for node in loaded(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pybroker")
        for one in node.names
        if not is_there(node.module, one.name, names)
    }
    # The extension in C is optional.
    assert missing == {"pybroker/wire/content.py: pybroker.wire._codec"}


def loaded(tree):
    """Yield the nodes of a module but those for the type checker alone."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield node
            yield from loaded(node)


def is_there(module, name, names):
    """Tell whether `from module import name` finds a file; a name in lower case may be a module of a package."""
    place = module.replace(".", "/")
    if f"{place}.py" in names:
        return True
    is_module = f"{place}/{name}.py" in names or f"{place}/{name}/__init__.py" in names
    return is_module or (
        f"{place}/__init__.py" in names and not (ROOT / place / f"{name}.py").exists() and name != "_codec"
    )
