"""A stream becomes Parquet files without Spark; the same command goes on where it was, also after a kill."""

import json

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

import pyarrow.parquet as pq

from pybroker.spark.pipeline import stream_export
from pybroker.spark.pipeline.program import main
from tests.faults.control import ask
from tests.spark.stream.conftest import link, options, publish, stream, stream_port

__all__ = ["link", "options", "publish", "stream"]


@pytest.fixture
def export(broker, stream, tmp_path, capfd):
    def export(code=0):
        place = ["--host", broker.host, "--stream-port", str(stream_port(broker)), "--stream", stream]
        assert main(["export", *place, "--to", str(tmp_path), "--available-now", "--quiet"]) == code
        out, err = capfd.readouterr()
        return json.loads(out)["rows"] if out else err

    return export


def kept(folder):
    """Return the rows of all files, and their names."""
    files = sorted(folder.glob("*.parquet"))
    rows = [(row["offset"], row["value"]) for file in files for row in pq.read_table(file).to_pylist()]
    return rows, [file.name for file in files]


def test_messages_are_in_files_once(export, publish, stream, tmp_path):
    publish(b"a", b"b")
    assert export() == 2
    assert export() == 0
    publish(b"c")
    assert export() == 1
    rows, names = kept(tmp_path)
    assert rows == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert names == [f"{stream}-{0:020d}-{1:020d}.parquet", f"{stream}-{2:020d}-{2:020d}.parquet"]


def test_a_file_is_bounded(export, publish, tmp_path, monkeypatch):
    monkeypatch.setattr(stream_export, "ROWS_MAX", 4)
    publish(*[b"%d" % number for number in range(10)])
    assert export() == 10
    rows, names = kept(tmp_path)
    assert rows == [(number, b"%d" % number) for number in range(10)]
    assert len(names) == 3


@pytest.mark.parametrize("step", ["sync_file", "rename"])
def test_a_file_that_was_cut_off_is_written_again_under_its_name(export, publish, tmp_path, monkeypatch, step):
    publish(b"a", b"b")

    def fail(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(*((stream_export, step) if step == "sync_file" else (stream_export.Path, "rename")), fail)
        export(code=130)
    assert kept(tmp_path)[1] == []
    assert export() == 2
    assert kept(tmp_path)[0] == [(0, b"a"), (1, b"b")]


def test_lost_messages_are_told(export, publish, stream, broker):
    publish(*[b"%d" % number for number in range(5)])
    export()
    publish(b"5", b"6")
    ask(broker.socket, "stream_truncate", stream=stream, before="6")
    assert f"stream '{stream}' lost messages 5 to 5 before they were exported" in export(code=65)


def test_one_export_at_a_time_writes_into_a_folder(export, publish, tmp_path):
    publish(b"a")
    with stream_export._lock(tmp_path):
        assert "another export into" in export(code=75)
    assert export() == 1


def test_a_stream_made_anew_is_another_one(export, publish, stream, channel):
    def publish_anew(stream):
        for number in range(3):
            channel.publish_and_wait("", stream, b"%d" % number)

    publish(b"a", b"b")
    export()
    channel.queue_delete(stream)
    channel.queue_declare(stream, durable=True, arguments={"x-queue-type": "stream"})
    assert "it was made anew; export it to another folder" in export(code=65)
    publish_anew(stream)
    assert "it was made anew; export it to another folder" in export(code=65)


def test_an_option_that_makes_no_sense_is_a_sentence(tmp_path, capfd):
    words = ["--stream", "s", "--super-stream", "t", "--to", str(tmp_path)]
    assert main(["export", *words]) == 65
    assert "exclude each other" in capfd.readouterr().err


def test_what_is_missing_is_named(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(stream_export, "find_spec", lambda name: None if name == "pyarrow" else name)
    assert main(["export", "--stream", "s", "--to", str(tmp_path)]) == 69
    assert "needs pyarrow and pyspark, but no Java: pip install 'pybroker[spark]'" in capfd.readouterr().err
