"""Filters: rows by the filter value of their messages, whatever chunks these share, and a range to its end."""

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pybroker.client import Properties
from pybroker.spark.source import PybrokerSource
from pybroker.spark.stream.link import Link
from pybroker.spark.stream.subscription import Subscription
from pybroker.spark.stream_source.offset import DataLossError
from pybroker.spark.stream_source.row_filter import RowFilter, UnknownFilterValueError
from pybroker.spark.values import OptionError
from pybroker.wire.amqp10.front import UNKNOWN, Front, Origin
from pybroker.wire.properties import HEADERS, join_properties
from pybroker.wire.stream.codes import UNTIL
from pybroker.wire.table import Table, encode_table
from tests.faults.control import ask
from tests.spark.conftest import WAIT_S
from tests.spark.stream.conftest import encoded
from tests.spark.stream_source.conftest import rows, skip_unless_ours
from tests.stream_peer import entry

BY_AMQP = Origin("", "s")


def front(headers=None, origin=BY_AMQP):
    values = {} if headers is None else {HEADERS: encode_table(Table(headers))}
    return Front(join_properties(values), origin)


@pytest.mark.parametrize(
    ("header", "headers", "unfiltered", "passes"),
    [
        ("", {"x-stream-filter-value": "eu"}, False, True),
        ("", {"x-stream-filter-value": "asia"}, True, False),
        ("", {"x-stream-filter-value": 7}, False, False),
        ("", None, False, False),
        ("", None, True, True),
        ("region", {"region": "eu", "x-stream-filter-value": "asia"}, False, True),
        ("region", {"region": 7}, False, True),
        ("region", {"x-stream-filter-value": "eu"}, False, False),
        ("region", {"x-stream-filter-value": "asia"}, True, True),
    ],
)
def test_which_messages_pass(header, headers, unfiltered, passes):
    made = RowFilter(frozenset(["eu", "us", "7"]), unfiltered, header)
    assert made.passes(front(headers), "s", 0) is passes


def test_a_value_that_only_the_publisher_knew_is_an_error():
    made = RowFilter(frozenset(["eu"]))
    with pytest.raises(UnknownFilterValueError, match=r"message 5 of stream 's' .* by filterHeader"):
        made.passes(front(origin=UNKNOWN), "s", 5)
    assert made._replace(header="region").passes(front(origin=UNKNOWN), "s", 5) is False


def test_octets_that_are_no_table_have_no_value():
    assert RowFilter(frozenset(["eu"])).passes(Front(b"\x20\0\0\0\0\x09x", BY_AMQP), "s", 0) is False


# -- from a broker ----------------------------------------------------------------------------------------------------


@pytest.fixture
def reader(given, stream):
    def make(**options):
        source = PybrokerSource(given | {"stream": stream} | options)
        return source.reader(source.schema())

    return make


@pytest.fixture
def publish_filtered(channel, stream):
    """Publish bodies by AMQP, of which the first letter is their filter value; `-` has none."""

    def publish_filtered(*bodies):
        for each in bodies:
            headers = None if each.startswith("-") else Table({"x-stream-filter-value": each[0]})
            channel.basic_publish("", stream, each.encode(), Properties(headers=headers))
        channel.wait_for_confirms(WAIT_S)

    return publish_filtered


def values(found):
    return [value.decode() for value in rows(found, found.partitions())]


def test_rows_are_those_of_the_values_to_the_last_offset(reader, publish_filtered):
    publish_filtered("a1", "b1", "-1")
    publish_filtered(*[f"b{number}" for number in range(2, 300)])
    publish_filtered("a2")
    publish_filtered(*[f"c{number}" for number in range(300)])
    assert values(reader(filter="a")) == ["a1", "a2"]
    assert values(reader(filter="a", matchUnfiltered="true")) == ["a1", "-1", "a2"]
    assert values(reader(filter='["a", "x,y"]', minPartitions="4")) == ["a1", "a2"]
    assert values(reader(filter="nothing")) == []
    assert len(values(reader(filter="b,c"))) == 599


def test_the_broker_sends_no_chunk_that_cannot_match(broker, reader, publish_filtered, link, stream, monkeypatch):
    skip_unless_ours(broker)
    publish_filtered("a1")
    publish_filtered(*[f"b{number}" for number in range(300)])
    publish_filtered(*[f"a{number}" for number in range(2, 300)])
    come = []
    deliver = Subscription.deliver
    monkeypatch.setattr(Subscription, "deliver", lambda self, chunk: (come.append(chunk), deliver(self, chunk)))
    assert len(values(reader(filter="a"))) == 299
    assert sum(chunk.records for chunk in come if chunk.entries) < 450 < sum(chunk.records for chunk in come)
    assert link.tells_passed


def test_a_header_that_stream_clients_filter_by(broker, reader, link, stream):
    if not broker.is_ours:
        pytest.skip("RabbitMQ takes filter values since 3.13")
    publisher = link.publisher(stream)
    for number, value in enumerate([b"eu", b"us", b"eu"], 1):
        # Application properties with a region, and the filter value beside the message.
        pair = b"\2\xa1\x06region\xa1" + bytes([len(value)]) + value
        message = b"\0St\xc1" + bytes([len(pair)]) + pair + encoded(b"%d" % number)
        content = bytes([publisher.id]) + (1).to_bytes(4) + number.to_bytes(8) + len(value).to_bytes(2) + value
        content += entry(message)
        publisher.open += 1
        link.send_octets((len(content) + 4).to_bytes(4) + b"\0\2\0\2" + content)
    publisher.settle(WAIT_S)
    assert values(reader(filter="eu", filterHeader="region")) == ["1", "3"]
    with pytest.raises(UnknownFilterValueError):
        values(reader(filter="eu"))


def test_another_broker_is_asked_for_all(reader, publish_filtered, monkeypatch):
    publish_filtered("a1", "b1", "a2")
    publish_filtered(*[f"b{number}" for number in range(300)])
    monkeypatch.setattr(Link, "tells_passed", property(lambda _: False))
    asked = []
    plain = Link.subscribe

    def subscribe(self, *given, **properties):
        asked.append(properties)
        return plain(self, *given, **properties)

    monkeypatch.setattr(Link, "subscribe", subscribe)
    assert values(reader(filter="a")) == ["a1", "a2"]
    assert asked
    assert not any("filter.0" in each or UNTIL in each for each in asked)


def test_messages_that_are_gone_are_told_apart_from_others(broker, reader, publish_filtered, stream):
    skip_unless_ours(broker)
    publish_filtered("a1", "b1", "a2", "b2", "b3")
    found = reader(filter="a")
    partitions = found.partitions()
    ask(broker.socket, "stream_truncate", stream=stream, before="3")
    with pytest.raises(DataLossError, match="lost messages 0 to 2"):
        rows(found, partitions)
    lenient = reader(filter="a", failOnDataLoss="false")
    assert rows(lenient, partitions) == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"filter": "[1]"}, r'filter is a list of texts, such as \["eu", "us"\]'),
        ({"filter": "[]"}, "filter is a list"),
        ({"filter": "[x"}, "filter is no JSON"),
        ({"filter": ""}, "filter is empty"),
        ({"filterHeader": "region"}, "filterHeader is for a query with a filter"),
        ({"matchUnfiltered": "true"}, "matchUnfiltered is for a query with a filter"),
    ],
)
def test_options_that_make_no_sense(options, text):
    with pytest.raises(OptionError, match=text):
        PybrokerSource({"uri": "amqp://localhost", "stream": "s"} | options).schema()
