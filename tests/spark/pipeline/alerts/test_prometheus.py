"""Text for Prometheus: the exposition format, and a file that is whole."""

from pybroker.spark.pipeline.alerts import prometheus

STATE = {
    "incidents": {
        "a": {"labels": {"report": "slo", "queue": 'a"b\\c\nd'}, "raised_s": 5},
        "b": {"labels": {"report": "slo", "queue": "not yet"}, "raised_s": None},
    },
    "reports": {"slo": {"made_s": 7, "known_s": None, "findings": 1}},
    "outbox": {"x": {}},
}


def test_the_text():
    lines = prometheus.text(STATE).splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        r'pybroker_alert{queue="a\"b\\c\nd",report="slo"} 1',
        'pybroker_report_findings{report="slo"} 1',
        'pybroker_report_made_timestamp_seconds{report="slo"} 7',
        "pybroker_alerts_undelivered 1",
    ]
    assert lines[:2] == ["# HELP pybroker_alert Alert that is raised.", "# TYPE pybroker_alert gauge"]


def test_the_file_is_replaced_whole_and_may_be_read(tmp_path):
    path = tmp_path / "pybroker.prom"
    for _ in range(2):
        prometheus.write(path, STATE)
    assert path.read_text() == prometheus.text(STATE)
    assert path.stat().st_mode & 0o777 == 0o644
    assert [*tmp_path.iterdir()] == [path]
