"""Search in a stream: a tap of an exchange, and messages of stream clients."""

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

import json
import zlib

from hypothesis import given, strategies as st

from pybroker.client import Properties, Table
from pybroker.spark.pipeline import search
from pybroker.spark.pipeline.program import main
from tests.spark.stream.conftest import link, options, publish, publish_batch, stream, stream_port

__all__ = ["link", "options", "publish", "stream"]


@pytest.fixture
def find(broker, stream, capfd):
    def find(*words, code=0):
        place = ["--host", broker.host, "--stream-port", str(stream_port(broker)), "--stream", stream]
        assert main(["search", *place, *words]) == code
        out, err = capfd.readouterr()
        return json.loads(out) if out else err

    return find


@pytest.fixture
def tapped(channel, stream, name):
    """Some orders in the stream, which is bound to an exchange."""
    channel.exchange_declare(name, "topic")
    channel.queue_bind(stream, name, "#")
    for number in range(5):
        headers = Table({"region": "eu" if number % 2 else "us", "try": number})
        properties = Properties(correlation_id=f"c{number}", message_id=f"m{number}", headers=headers)
        channel.basic_publish(name, f"order.{number}.paid", b"total %d" % number, properties)
    channel.basic_publish(name, "order", bytes([255, 0, 27]))
    channel.wait_for_confirms()
    yield name
    channel.exchange_delete(name)


def offsets(found):
    return [message["offset"] for message in found["messages"]]


def test_messages_are_found_by_what_is_in_them(find, tapped):
    assert offsets(find("--correlation-id=c3")) == [3]
    assert offsets(find("--message-id=m1")) == [1]
    assert offsets(find("--text=total 4")) == [4]
    assert offsets(find("--header=region=eu")) == [1, 3]
    assert offsets(find("--header=region=eu", "--header=try=3")) == [3]
    assert offsets(find("--key=order.*.paid")) == [0, 1, 2, 3, 4]
    assert offsets(find("--key=order.#")) == [0, 1, 2, 3, 4, 5]
    assert offsets(find("--key=nothing")) == []
    assert offsets(find("--since=1h")) == [0, 1, 2, 3, 4, 5]
    assert offsets(find("--until=1h")) == []
    assert offsets(find("--since=2099-01-01")) == []


def test_a_message_is_shown_with_its_way(find, tapped, stream):
    (message,) = find("--correlation-id=c2")["messages"]
    assert message.pop("time").endswith("+00:00")
    assert message == {
        "stream": stream,
        "offset": 2,
        "exchange": tapped,
        "routing_key": "order.2.paid",
        "properties": {"message_id": "m2", "correlation_id": "c2"},
        "headers": {"region": "us", "try": "2"},
        "payload": "total 2",
        "payload_encoding": "string",
    }
    text = find("--correlation-id=c2")["message"]
    assert text.splitlines()[0].endswith(
        f"exchange={tapped} key=order.2.paid message_id=m2 correlation_id=c2 region=us try=2: total 2"
    )
    assert text.splitlines()[1] == "1 of 6 messages match"


def test_octets_that_are_no_text_are_base64_and_harm_no_terminal(find, tapped):
    found = find("--key=order")
    assert (found["messages"][0]["payload_encoding"], found["messages"][0]["payload"]) == ("base64", "/wAb")
    assert found["message"].isprintable() or "\n" in found["message"]


def test_a_limit_says_that_there_is_more(find, tapped):
    found = find("--limit=2")
    assert offsets(found) == [0, 1]
    assert found["message"].endswith("\n2 messages of the first 3 match, and more do: raise --limit")


def test_messages_of_stream_clients(find, publish, stream):
    publish(b"plain", b"other")
    found = find("--text=plain")
    assert offsets(found) == [0]
    assert found["messages"][0]["routing_key"] == stream
    assert find("--header=x", code=64) == "Error:\n'x' is not a header: use NAME=VALUE\n"


def test_a_compressed_sub_batch_of_one_message_is_opened(find, link, stream):
    publish_batch(link, stream, zlib.compress, b"hidden")
    assert offsets(find("--text=hidden")) == [0]


def test_a_sub_batch_that_cannot_be_opened_is_told_and_passed_over(find, link, stream, publish):
    publish_batch(link, stream, lambda *_, **__: b"damaged", b"one", b"two")
    publish(b"plain")
    found = find("--text=plain")
    assert (offsets(found), found["passed_over"]) == ([2], 1)
    assert "1 sub-batch was passed over: the sub-batch at offset 0 cannot be opened" in found["message"]


def test_an_empty_stream_has_none(find):
    found = {"result": "ok", "messages": [], "searched": 0, "passed_over": 0, "more": False}
    assert find() == found | {"message": "0 of 0 messages match"}


WORDS = st.lists(st.sampled_from(["a", "b", ""]), max_size=4).map(tuple)


@given(WORDS)
def test_patterns_are_those_of_topic_exchanges(words):
    assert search.fits(("#",), words)
    assert search.fits(words, words)
    assert search.fits(("*",) * len(words), words)
    assert search.fits(("#", *words), words)
    assert search.fits((*words, "#"), words)
    assert not search.fits(("*", *("*",) * len(words)), words)
