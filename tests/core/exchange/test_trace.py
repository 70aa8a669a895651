"""core/exchange/trace.py by itself; what clients see of it stands in flows/test_trace.py."""

import pytest

from pybroker.core.exchange.trace import EXCHANGE, TURN_TRACES_MAX, Frames, Party
from pybroker.core.routing.binding import Binding
from pybroker.core.routing.publish import names_of
from pybroker.run import PLAIN_ATTRIBUTES, Run
from pybroker.wire.properties import Properties, decode_properties, encode_properties
from pybroker.wire.table import Table
from tests.fakes import World

PARTY = Party("127.0.0.1:1 -> 127.0.0.1:5672", 7, "guest")


@pytest.fixture
def world():
    world = World()
    peer = world.connect()
    peer.declare("traces")
    peer.declare("q")
    vhost = world.vhost
    vhost.exchanges[EXCHANGE].add(Binding(vhost.exchanges[EXCHANGE], vhost.queues["traces"], "#", Table()))
    return world


def content_of(properties: Properties, body: bytes) -> bytes:
    octets = encode_properties(properties)
    header = b"\x00\x3c\x00\x00" + len(body).to_bytes(8) + octets
    head = b"\x02\x00\x01" + len(header).to_bytes(4) + header + b"\xce"
    return head + b"\x03\x00\x01" + len(body).to_bytes(4) + body + b"\xce"


def run_of(exchange: str, contents: list[bytes]) -> Run:
    octets = sum(map(len, contents))
    return Run(names_of(exchange, "key"), PLAIN_ATTRIBUTES, 1, contents, octets, len(contents), 1, 0, 1, 131_072)


def headers_of_next(world) -> Table:
    entry = world.vhost.queues["traces"].get(no_ack=True)
    content = entry.run.content(entry.indexes[0])
    return decode_properties(content[19 : 7 + int.from_bytes(content[3:7])]).headers


def test_headers_have_the_types_of_rabbitmqs(world):
    properties = Properties(
        content_type="t", timestamp=1_700_000_000, delivery_mode=2, headers=Table({"n": 1}, {"n": "l"})
    )
    world.broker.traces.firehose.publish(
        world.vhost, names_of("x", "k"), content_of(properties, b"b"), Frames(1, 131_072), PARTY, ["q"]
    )
    headers = headers_of_next(world)
    types = {key: headers.type_of(key) for key in headers}
    assert types == {
        "exchange_name": "S",
        "routing_keys": "A",
        "properties": "F",
        "node": "S",
        "vhost": "S",
        "connection": "S",
        "channel": "I",
        "user": "S",
        "routed_queues": "A",
    }
    shown = headers["properties"]
    assert {key: shown.type_of(key) for key in shown} == {
        "timestamp": "I",
        "delivery_mode": "I",
        "headers": "F",
        "content_type": "S",
    }
    assert shown["headers"].type_of("n") == "l"


def test_more_than_a_turns_share_waits_for_the_next_turn(world):
    traces, queue = world.broker.traces.firehose, world.vhost.queues["q"]
    run = run_of("", [content_of(Properties(), b"x")] * (TURN_TRACES_MAX + 10))
    traces.add(queue, run, range(run.count), 0, PARTY)
    world.broker.pump()
    assert len(traces) == 10
    assert traces.awake
    world.broker.pump()
    assert len(traces) == 0
    assert world.vhost.queues["traces"].messages_ready == TURN_TRACES_MAX + 10


def test_deliveries_are_told_in_their_order(world):
    traces, queue = world.broker.traces.firehose, world.vhost.queues["q"]
    run = run_of("", [content_of(Properties(message_id=str(i)), b"x") for i in range(6)])
    traces.add(queue, run, range(0, 6, 2), 0, PARTY)
    traces.add(queue, run, range(1, 6, 2), 1, PARTY)
    world.broker.pump()
    told = [headers_of_next(world) for _ in range(6)]
    assert [each["properties"]["message_id"] for each in told] == ["0", "2", "4", "1", "3", "5"]
    assert [each["redelivered"] for each in told] == [0, 0, 0, 1, 1, 1]


def test_what_comes_from_the_trace_exchange_is_not_even_kept(world):
    traces = world.broker.traces.firehose
    traces.add(world.vhost.queues["q"], run_of(EXCHANGE, [content_of(Properties(), b"x")]), range(1), 0, PARTY)
    assert len(traces) == 0


def test_a_vhost_that_is_gone_ends_its_traces(world):
    traces, queue = world.broker.traces.firehose, world.vhost.queues["q"]
    traces.add(queue, run_of("", [content_of(Properties(), b"x")]), range(1), 0, PARTY)
    world.broker.delete_vhost("/")
    world.broker.pump()
    assert len(traces) == 0
