"""The installation and the words to type: entry points, versions, the README's commands, the files it points to."""

import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

from tests.sources import PACKAGES, ROOT, report, sources, sources_of_tests

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()
PROGRAMS = {
    "pybroker": "pybroker.daemon",
    "pybrokerctl": "pybrokerctl",
    "pybroker-testing": "pybroker.testing",
    "pybroker-web": "pybroker.http.main",
}


def readme_commands(heading: str) -> list[str]:
    """Return the commands of the first shell block below a heading of the README."""
    section = README.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    return block.group(1).splitlines() if block else []


CAPTURED = {"capture_output": True, "text": True, "timeout": 60}


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False, **CAPTURED)


@pytest.mark.parametrize("script", sorted(PROJECT["project"]["scripts"]))
def test_entry_points_can_be_called(script):
    module, _, name = PROJECT["project"]["scripts"][script].partition(":")
    assert callable(getattr(importlib.import_module(module), name))
    assert script in PROGRAMS


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_programs_tell_their_version(program):
    from pybroker.version import VERSION

    done = run(sys.executable, "-m", PROGRAMS[program], "--version")
    assert done.returncode == 0
    assert VERSION in done.stdout.split()


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_programs_explain_themselves(program):
    done = run(sys.executable, "-m", PROGRAMS[program], "--help")
    assert done.returncode == 0
    assert done.stdout.lower().lstrip().startswith("usage")


def test_the_installed_version_is_the_source_versions():
    from pybroker.version import VERSION

    try:
        assert importlib.metadata.version("pybroker") == VERSION
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("run from the sources, not installed")


def test_every_folder_with_code_is_a_package():
    report(
        [
            f"{source.path.parent.relative_to(ROOT)} has no __init__.py: its files would be left out."
            for source in sources()
            if not (source.path.parent / "__init__.py").exists()
        ]
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_data_files_are_there_and_shipped(package):
    shipped = PROJECT["tool"]["setuptools"]["package-data"][package]
    assert "py.typed" in shipped
    report(
        [f"{package}/{name} is shipped and does not exist." for name in shipped if not any((ROOT / package).glob(name))]
    )


# The base of pyspark: its errors are py4j's.
COMES_WITH_SPARK = {"py4j"}


def declared(*extras: str) -> set[str]:
    """Return the modules that an installation with these extras brings along."""
    project = PROJECT["project"]
    lines = project["dependencies"] + [line for extra in extras for line in project["optional-dependencies"][extra]]
    modules = {
        "argon2-cffi": "argon2",
        "google-crc32c": "google_crc32c",
        "google-re2": "re2",
        "prometheus-client": "prometheus_client",
        "pytest-xdist": "xdist",
    }
    names = {re.split(r"[<>=~\[ ]", line)[0].lower() for line in lines}
    return {modules.get(name, name) for name in names}


def test_imports_are_declared_as_dependencies():
    known = declared() | set(PACKAGES) | set(sys.stdlib_module_names)
    # Nothing but the connector may need what only its extra brings along.
    with_spark = known | declared("spark", "spark-jdk") | COMES_WITH_SPARK
    report(
        [
            f"{source.where}:{item.line} imports {item.target}, which pyproject.toml does not declare."
            for source in sources()
            for item in source.imports
            if item.target.split(".")[0] not in (with_spark if source.name.startswith("pybroker.spark") else known)
            # Its plugin is loaded by pytest alone.
            and (source.name, item.target) != ("pybroker.testing.plugin", "pytest")
        ]
    )


def test_what_tests_import_comes_with_the_extra():
    # greenlet comes with gevent, which is built on it
    # and those of the connector are skipped where its extra is missing, as are those of Celery where that is
    known = declared("test", "spark", "spark-jdk") | set(PACKAGES) | set(sys.stdlib_module_names) | {"greenlet"}
    known |= {"tests", "celery", "kombu"} | COMES_WITH_SPARK
    report(
        [
            f"{source.where}:{item.line} imports {item.target}, which the extra `test` does not bring along."
            for source in sources_of_tests()
            for item in source.imports
            if item.target.split(".")[0] not in known
        ]
    )


def test_no_dependency_is_unused():
    used = {item.target.split(".")[0] for source in sources() for item in source.imports}
    report([f"pyproject.toml asks for what brings {name}, and nothing imports it." for name in declared() - used])


@pytest.mark.parametrize("heading", ["Run it", "Run the tests"])
def test_the_readme_has_one_command_each(heading):
    (command,) = readme_commands(heading)
    script = command.split()[1]
    assert command.startswith("sh ")
    assert (ROOT / script).exists()


def test_ci_calls_the_readmes_test_command():
    # .ci/run reads it from the README; what it reads must be what a person reads.
    pattern = re.search(r"awk '(.+)' README.md", (ROOT / ".ci/run").read_text())
    assert pattern
    assert run("awk", pattern.group(1), "README.md").stdout.splitlines() == readme_commands("Run the tests")


def test_setup_refuses_an_old_python(tmp_path):
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\ncase $* in *version_info\\ *) exit 1;; *) echo 3.9;; esac\n")
    old.chmod(0o755)
    done = run("sh", "etc/setup.sh", "install", PYTHON=str(old), PYBROKER_VENV=str(tmp_path / "venv"))
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        69,
        f"setup: {old} is 3.9, pybroker needs 3.11 or newer: set PYTHON to a newer one",
    )


def test_setup_explains_itself_without_a_command():
    done = run("sh", "etc/setup.sh")
    assert done.returncode == 64
    assert "sh etc/setup.sh test" in done.stderr


def test_setup_keeps_an_environment_that_is_up_to_date(tmp_path):
    # no package is asked for twice: the stamp says which pyproject.toml was installed
    python = tmp_path / "bin/python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\ncase $* in '-m pip --version') exit 0;; *) echo \"called: $*\"; exit 0;; esac\n")
    python.chmod(0o755)
    for expected in (["-m pip install", "-m pytest -n"], ["-m pytest -n"]):
        done = run("sh", "etc/setup.sh", "test", "--collect-only", PYBROKER_VENV=str(tmp_path))
        assert done.returncode == 0
        calls = [" ".join(line.split()[1:4]) for line in done.stdout.splitlines()]
        assert calls == expected


def test_setup_installs_again_once_there_is_a_compiler(tmp_path):
    headers = tmp_path / "include/Python.h"
    headers.parent.mkdir()
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\ncase $* in -c*) echo {headers.parent};; *install*) echo installed;; esac\n")
    python.chmod(0o755)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "cat", "cksum", "dirname"):
        (tools / name).symlink_to(shutil.which(name))

    def install():
        done = run("sh", "etc/setup.sh", "install", PYBROKER_VENV=str(tmp_path / "venv"), PATH=str(tools))
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert [install(), install()] == ["installed\n", ""]
    headers.touch()
    assert install() == ""
    (tools / "cc").symlink_to("/bin/true")
    assert [install(), install()] == ["installed\n", ""]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The names of the files in the sdist and in the wheel, of a copy without what was built here."""
    folder = tmp_path_factory.mktemp("build")
    copied = ("pybroker", "pybrokerctl", "man", "etc", ".ci")
    for name in copied:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in (
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "MANIFEST.in",
        "pyproject.toml",
        "setup.py",
    ):
        shutil.copy(ROOT / name, folder)
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests/conftest.py", folder / "tests")
    code = "from setuptools import build_meta as b; print(b.build_sdist('dist'), b.build_wheel('dist'))"
    # No compiler: what it makes is not looked at.
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"CC": "false"}, check=False, **CAPTURED)
    assert done.returncode == 0, done.stderr
    sdist, wheel = (folder / "dist" / name for name in done.stdout.splitlines()[-1].split())
    with tarfile.open(sdist) as tar:
        in_sdist = {name.partition("/")[2] for name in tar.getnames()}
    in_wheel = zipfile.ZipFile(wheel).namelist()
    return in_sdist, {re.sub(r"^pybroker-[^/]*\.data/data/", "", name) for name in in_wheel}


def tracked(*patterns):
    return {path.relative_to(ROOT).as_posix() for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}


def test_the_sdist_has_what_the_readmes_commands_need(built):
    expected = tracked("man/*", "etc/*", "etc/completions/*", "*.md", "*.toml", ".ci/run", "pybroker/wire/_codec.*")
    expected |= tracked(
        "pybroker/spark/parse/_deliveries.*", "pybroker/wire/stream/_entries.*", "pybroker/wire/amqp10/_contents.*"
    )
    built_here = {name for name in expected if name.endswith(".so")}
    assert expected - built_here | {"tests/conftest.py", "setup.py", "LICENSE"} <= built[0]


def test_the_wheel_has_manual_pages_units_configuration_and_completions(built):
    expected = {f"share/man/man{name[-1]}/{name[4:]}" for name in tracked("man/*")}
    expected |= {f"share/pybroker/{name[4:]}" for name in tracked("etc/pybroker*")}
    expected |= {
        "share/bash-completion/completions/pybrokerctl.bash",
        "share/fish/vendor_completions.d/pybrokerctl.fish",
        "share/zsh/site-functions/_pybrokerctl",
        "pyspark_pybroker.py",
    }
    assert expected <= built[1]


def test_shell_scripts_are_well_formed():
    assert run("sh", "-n", "etc/setup.sh").returncode == 0
    assert run("sh", "-n", "etc/wheels.sh").returncode == 0
    for script in (".ci/run", "tests/fresh_machine.sh"):
        assert run("bash", "-n", script).returncode == 0
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_the_readmes_commands_run_as_they_are_printed():
    # nothing puts the environment's programs on the PATH
    text = README.replace(".venv/bin/pybrokerctl", "")
    report([f"README.md prints `{each}` without its path." for each in re.findall(r"`(pybrokerctl [^`]+)`", text)])
    assert not re.findall(r"^pybrokerctl .*", text, re.MULTILINE)


def test_what_the_readme_points_to_exists():
    links = re.findall(r"\]\((?!http|#)([^)]+)\)", README) + re.findall(r"man -l (\S+?)`", README)
    report([f"README.md points to {link}, which does not exist." for link in links if not (ROOT / link).exists()])


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "man").glob("*.[1-8]")))
def test_man_pages_are_well_formed(page):
    done = run("groff", "-man", "-Tutf8", "-ww", "-z", f"man/{page}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a19_extensions_are_documented_apart_from_the_protocol():
    page = (ROOT / "man/pybroker-amqp.7").read_text()
    sections = re.findall(r'^\.SH "?([^"\n]+)"?$', page, re.MULTILINE)
    assert sections.index("EXTENSIONS") < sections.index("DIFFERENCES")
    for word in ("alternate", "immediate", "confirm.select", r"basic.nack", "exchange.bind"):
        assert word in page


def test_the_license_is_the_one_that_is_declared():
    assert PROJECT["project"]["license"] == {"text": "Apache-2.0"}
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text()
