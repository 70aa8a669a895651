"""Requirements are checked before a virtual machine is started, and a missing one is told in a sentence."""

import contextlib
import sys
from types import SimpleNamespace

import pytest

from pybroker.spark.pipeline import session
from pybroker.spark.pipeline.failure import FailureError


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ({}, "the pipeline needs pyspark 4.2+: pip install 'pybroker[spark]'"),
        ({"pyspark": "4.1.2", "pyarrow": "20.0"}, "needs pyspark 4.2+, but 4.1.2 is installed: pip"),
        ({"pyspark": "4.3.0"}, "the pipeline needs pyarrow 18+: pip"),
        ({"pyspark": "4.3.0", "pyarrow": "17.0.0"}, "needs pyarrow 18+, but 17.0.0 is installed"),
    ],
)
def test_packages_that_are_missing_or_too_old_are_named(monkeypatch, versions, text):
    monkeypatch.setattr(session, "version_of", versions.get)
    with pytest.raises(FailureError) as caught:
        session.check_packages()
    assert text in caught.value.text
    assert caught.value.code == 69


def test_a_spark_that_pip_does_not_know_has_a_version_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "nobodys_spark", SimpleNamespace(__version__="4.3.0"))
    assert session.version_of("nobodys_spark") == "4.3.0"
    assert session.version_of("no_such_module_at_all") is None


def test_too_little_memory_is_a_sentence(monkeypatch):
    monkeypatch.setattr(session, "memory_octets", lambda: 300 << 20)
    with pytest.raises(FailureError) as caught:
        session.check_memory()
    assert caught.value.text == "the pipeline needs 1024 MiB of memory, but only 300 MiB are available"
    assert caught.value.code == 69
    monkeypatch.setattr(session, "memory_octets", lambda: 0)
    session.check_memory()


def test_this_machine_says_how_much_memory_it_has():
    assert session.memory_octets() > 0


def test_what_a_process_writes_meanwhile_goes_to_a_file(tmp_path, capfd):
    import subprocess

    with session._output_to(tmp_path / "log"):
        subprocess.run(["sh", "-c", "echo out; echo err >&2"], check=True)
    print("after")
    assert (tmp_path / "log").read_text() == "out\nerr\n"
    assert capfd.readouterr() == ("after\n", "")


def test_a_session_is_opened_when_it_is_needed_once_and_ends():
    told = []

    @contextlib.contextmanager
    def opened():
        told.append("begin")
        yield "session"
        told.append("end")

    with session.when_needed(opened):
        pass
    assert told == []
    with session.when_needed(opened) as spark:
        assert [spark(), spark()] == ["session"] * 2
        assert told == ["begin"]
    assert told == ["begin", "end"]
