"""Rows into streams by ids: a task that is run again sends what is missing, and nothing is there twice."""

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")
pytest.importorskip("pyarrow", reason="no pyarrow here: pip install 'pybroker[spark]'")

from pybroker.spark.options import sink_options
from pybroker.spark.sink import row_publisher
from pybroker.spark.sink.identity import TooManyPartitionsError
from pybroker.spark.sink.row_publisher import RowPublisher
from pybroker.spark.sink.rows import Row, RowError
from pybroker.spark.stream.errors import StreamError
from tests.spark.sink.streams import bodies, super_stream


def rows(*values, key="k"):
    return [Row("", key, bytes(2), value) for value in values]


def options_of(uri, port, **given):
    return sink_options({"uri": uri, "streamPort": str(port), "exactlyOnce": "rows", **given})


def published(options, batch, *values, **named):
    with RowPublisher(options, "p", batch) as publisher:
        publisher.publish(rows(*values, **named))
        publisher.settle()


@pytest.fixture
def into_stream(uri, link_port, stream):
    return options_of(uri, link_port, stream=stream)


def test_a_task_that_is_run_again_sends_what_is_missing(into_stream, link, stream):
    published(into_stream, 0, b"0", b"1")
    published(into_stream, 0, b"0", b"1", b"2")
    published(into_stream, 1, b"3")
    published(into_stream, 0, b"0", b"1", b"2")
    published(into_stream, 1, b"3", b"4")
    assert [b"0", b"1", b"2", b"3", b"4"] == bodies(link, stream, 5)
    assert 5 == link.ends(stream).next


def test_each_publisher_has_ids_of_its_own(into_stream, link, stream):
    published(into_stream, 0, b"0")
    with RowPublisher(into_stream, "q", 0) as publisher:
        publisher.publish(rows(b"of another"))
        publisher.settle()
    assert [b"0", b"of another"] == bodies(link, stream, 2)


def test_many_rows_are_sent_in_parts_and_go_on_where_they_ended(into_stream, link, stream):
    values = [b"%d" % number for number in range(2_500)]
    published(into_stream, 3, *values[:1_700])
    published(into_stream, 3, *values)
    assert values == bodies(link, stream, 2_500)
    assert 2_500 == link.ends(stream).next


def test_a_super_stream_has_each_row_where_its_key_leads(uri, link_port, link, channel, name):
    partitions = super_stream(channel, name, "a", "b")
    options = options_of(uri, link_port, superStream=name)
    for _ in range(2):
        with RowPublisher(options, "p", 0) as publisher:
            for key, value in ("a", b"0"), ("b", b"1"), ("a", b"2"):
                publisher.publish(rows(value, key=key))
            publisher.settle()
    assert [[b"0", b"2"], [b"1"]] == [bodies(link, each, 3 - at - 1) for at, each in enumerate(partitions)]
    with RowPublisher(options, "p", 1) as publisher, pytest.raises(RowError, match=r"leads to 0 .*--hash-exchange"):
        publisher.publish(rows(b"x", key="nowhere"))
    for each in partitions:
        channel.queue_delete(each)
    channel.exchange_delete(name)


def test_a_connection_that_is_full_is_followed_by_another_one(uri, link_port, link, channel, name, monkeypatch):
    monkeypatch.setattr("pybroker.spark.stream.link._IDS", 2)
    partitions = super_stream(channel, name, *"abc")
    with RowPublisher(options_of(uri, link_port, superStream=name), "p", 0) as publisher:
        for key in "abc":
            publisher.publish(rows(key.encode(), key=key))
        publisher.settle()
        assert len(publisher._links) == 2
    assert [[b"a"], [b"b"], [b"c"]] == [bodies(link, each, 1) for each in partitions]
    for each in partitions:
        channel.queue_delete(each)
    channel.exchange_delete(name)


def test_many_keys_are_remembered_and_asked_for_again(uri, link_port, link, channel, name, monkeypatch):
    monkeypatch.setattr(row_publisher, "_KEYS_MAX", 1_500)
    partitions = super_stream(channel, name, "0", "1", kind="x-super-stream")
    options = options_of(uri, link_port, superStream=name)
    keys = [f"customer-{number % 1_900}" for number in range(4_000)]
    for _ in range(2):
        with RowPublisher(options, "p", 0) as publisher:
            publisher.publish(Row(name, key, bytes(2), key.encode()) for key in keys)
            publisher.settle()
    found = [bodies(link, each, link.ends(each).next) for each in partitions]
    assert sorted(key.encode() for key in keys) == sorted(found[0] + found[1])
    assert not set(found[0]) & set(found[1])
    for each in partitions:
        channel.queue_delete(each)
    channel.exchange_delete(name)


def test_a_stream_that_is_not_there_is_named(uri, link_port):
    options = options_of(uri, link_port, stream="nowhere")
    with pytest.raises(StreamError, match="nowhere"):
        published(options, 0, b"0")


def test_rabbitmq_remembers_fewer_publishers(broker, into_stream, link, stream):
    with RowPublisher(into_stream, "p:254", 0, 254) as publisher:
        publisher.publish(rows(b"0"))
        publisher.settle()
    with RowPublisher(into_stream, "p:255", 0, 255) as publisher:
        if broker.is_ours:
            publisher.publish(rows(b"1"))
            publisher.settle()
        else:
            with pytest.raises(TooManyPartitionsError, match=r"by coalesce\(255\)"):
                publisher.publish(rows(b"1"))
    assert link.ends(stream).next == 1 + broker.is_ours
