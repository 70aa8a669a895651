"""The streams of a query: by name, by super stream, by pattern, over connections that end."""

import http.server
import json
import threading

import pytest

pytest.importorskip("pyspark", reason="no pyspark here: pip install 'pybroker[spark]'")

from pybroker.client.errors import ClientError
from pybroker.spark.options import stream_source_options
from pybroker.spark.stream.link import Link
from pybroker.spark.stream_source import patience
from pybroker.spark.stream_source.streams import Streams
from pybroker.spark.values import OptionError


@pytest.fixture
def streams(given):
    made = []

    def make(**options):
        made.append(Streams(stream_source_options(given | options, streaming=True)))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers["Authorization"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(self.server.queues).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def api():
    with http.server.HTTPServer(("127.0.0.1", 0), Api) as server:
        server.asked, server.queues = [], []
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield server
        server.shutdown()


def test_partitions_are_in_their_order(streams, super_stream):
    one = streams(superStream=super_stream)
    assert list(one.ends()) == [f"{super_stream}-{number}" for number in range(3)]
    assert one.number(f"{super_stream}-2") == 2
    assert streams(superStream=super_stream).number(f"{super_stream}-1") == 1
    assert one.number("another") == 0


def test_the_number_in_a_partitions_name_stays(streams, super_stream, channel):
    channel.queue_unbind(f"{super_stream}-1", super_stream, "1", {"x-stream-partition-order": 1})
    one = streams(superStream=super_stream)
    assert [(name, one.number(name)) for name in one.ends()] == [(f"{super_stream}-{each}", each) for each in (0, 2)]
    assert [one.number(f"{super_stream}-{tail}") for tail in ("1", "9", "007", "x")] == [1, 9, 0, 0]


def test_a_stream_that_only_looks_like_a_partition(streams):
    assert streams(stream="-5")._own_number("-5", 0) == 0


def test_a_connection_that_ended_is_made_again(streams, stream):
    one = streams(stream=stream)
    before = one.ends()
    one.link()._frames.close()
    assert one.ends() == before


@pytest.fixture
def gone(monkeypatch):
    """Let so many connections fail."""
    monkeypatch.setattr(patience, "RETRY_S", 0.0)
    left = [0]

    def connect(options):
        left[0] -= 1
        if left[0] >= 0:
            raise ConnectionRefusedError
        return Link(options)

    monkeypatch.setattr("pybroker.spark.stream_source.streams.Link", connect)
    return left


def test_a_broker_that_restarts_is_waited_for(streams, stream, gone):
    one = streams(stream=stream)
    before = one.ends()
    one.link()._frames.close()
    gone[0] = 3
    assert one.ends() == before
    one.link()._frames.close()
    gone[0] = 3
    short = streams(stream=stream, reconnectTimeoutMs="0")
    with pytest.raises(ConnectionRefusedError):
        short.ends(is_known=True)


def test_a_broker_that_was_never_there_is_not_waited_for(streams, stream, gone):
    gone[0] = 1
    with pytest.raises(ConnectionRefusedError):
        streams(stream=stream).ends()
    gone[0] = 1
    assert streams(stream=stream).ends(is_known=True)


def test_a_pattern_is_answered_by_the_list_of_queues(streams, stream, channel, api):
    api.queues = [
        {"name": stream, "type": "stream"},
        {"name": f"{stream}-classic", "type": "classic"},
        {"name": "other", "type": "stream"},
    ]
    address = f"http://127.0.0.1:{api.server_port}/"
    one = streams(streamPattern=f"{stream}.*", managementUri=address)
    assert list(one.ends()) == [stream]
    # Each time costs the broker a check of the password.
    assert list(one.ends()) == [stream]
    assert api.asked == [("/api/queues/%2F?columns=name,type", "Basic Z3Vlc3Q6Z3Vlc3Q=")]
    with pytest.raises(OptionError, match="matches no stream: 'x'"):
        streams(streamPattern="x", managementUri=address).ends()
    with pytest.raises(OptionError, match="is no regular expression"):
        streams(streamPattern="(", managementUri=address).ends()
    with pytest.raises(OptionError, match="begins with http:// or https://"):
        streams(streamPattern="x", managementUri="file:///etc").ends()


def test_a_list_that_cannot_be_had(streams):
    with pytest.raises(ClientError, match="does not list the streams"):
        streams(streamPattern="x", managementUri="http://127.0.0.1:1").ends()
