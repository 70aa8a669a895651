"""From contents to runs: what is put together, what a receipt learns, and what of a content is edited."""

import pytest
from hypothesis import given, strategies as st

from pybroker.core.channel.receipt import NO_RECEIPT, Receipt
from pybroker.core.routing.publish import (
    READ_RUN_OCTETS_MAX,
    RUN_AGE_MS_MAX,
    Contents,
    Publisher,
    Route,
    enqueue,
    names_of,
    property_octets,
    single_run,
    with_properties,
    without_header,
)
from pybroker.message import Message
from pybroker.run import PLAIN_ATTRIBUTES, RUN_MESSAGES_MAX, RUN_OCTETS_MAX, Run, RunAttributes
from pybroker.store.memory import MemoryLog
from pybroker.wire.properties import decode_properties
from tests.readers import Bench, Reader
from tests.streams import content_frames, props
from tests.topology import link, new_vhost, queue


def content(body: bytes = b"x", properties: bytes = b"\0\0") -> bytes:
    return b"".join(content_frames(1, body, properties))


def contents(*bodies: bytes, attributes: RunAttributes = PLAIN_ATTRIBUTES) -> Contents:
    octets = [content(body) for body in bodies]
    sizes = {len(body) for body in bodies}
    return Contents(
        attributes, octets, sum(map(len, octets)), sum(map(len, bodies)), sizes.pop() if len(sizes) == 1 else -1
    )


class Source:
    """A publisher with one route to the queue `q`."""

    def __init__(self, **arguments) -> None:
        self.bench = Bench(**arguments)
        self.vhost = self.bench.vhost
        self.publisher = Publisher(self.vhost, 7, 131_072)
        self.route = self.new_route("q")

    def new_route(self, key: str) -> Route:
        route = Route(1, names_of("", key), mandatory=False, immediate=False)
        route.resolve(self.vhost, self.vhost.exchanges[""])
        return route

    def publish(
        self, *bodies: bytes, attributes: RunAttributes = PLAIN_ATTRIBUTES, receipt: Receipt = NO_RECEIPT
    ) -> None:
        self.publisher.publish(self.route, contents(*bodies, attributes=attributes), self.route.queues, receipt)

    def runs(self) -> list[int]:
        """Return how many messages each run has."""
        return [entry.run.count for level in self.bench.queue.backlog.levels for entry in level]


# -- runs -------------------------------------------------------------------------------------------------------------


def test_publishes_of_one_route_and_kind_become_one_run():
    source = Source()
    source.publish(b"a", b"bb")
    source.publish(b"c")
    assert ([3], [b"a", b"bb", b"c"]) == (source.runs(), source.bench.bodies())
    assert [1, 2, 3] == source.bench.ready()


def test_another_message_in_between_ends_a_run():
    source = Source()
    other = source.new_route("q")
    source.publish(b"a")
    source.publisher.publish(other, contents(b"b"), other.queues, NO_RECEIPT)
    source.publish(b"c")
    assert [1, 1, 1] == source.runs()


def test_another_kind_is_another_run():
    source = Source()
    for attributes in (PLAIN_ATTRIBUTES, RunAttributes(persistent=True), PLAIN_ATTRIBUTES):
        source.publish(b"a", attributes=attributes)
    assert [1, 1, 1] == source.runs()


def test_a_run_ends_at_so_many_messages():
    source = Source()
    for _ in range(RUN_MESSAGES_MAX // 1_000 + 1):
        source.publish(*[b""] * 1_000)
    assert [4_000, 1_000] == source.runs()


def test_a_run_ends_at_so_many_octets():
    source = Source()
    for _ in range(4):
        source.publish(b"x" * (RUN_OCTETS_MAX // 2 - 1_000))
    assert [2, 2] == source.runs()


def test_a_packed_run_does_not_grow():
    source = Source()
    source.publish(b"a", b"b")
    assert source.route.run is not None
    source.route.run.pack()
    source.publish(b"c")
    assert ([2, 1], [b"a", b"b", b"c"]) == (source.runs(), source.bench.bodies())


@pytest.mark.parametrize(("arguments", "slack_ms"), [({}, RUN_AGE_MS_MAX), ({"x_message_ttl": 10_000}, 0)])
def test_messages_of_one_run_share_their_time_of_arrival(arguments, slack_ms):
    source = Source(**arguments)
    source.publish(b"a")
    source.bench.broker.clock.advance(slack_ms)
    source.publish(b"b")
    source.bench.broker.clock.advance(1)
    source.publish(b"c")
    assert [2, 1] == source.runs()


def test_messages_with_a_ttl_of_their_own_share_a_tick_at_most():
    source = Source()
    source.publish(b"a", attributes=(attributes := RunAttributes(ttl_ms=50)))
    source.publish(b"b", attributes=attributes)
    source.bench.broker.clock.advance(1)
    source.publish(b"c", attributes=attributes)
    assert [2, 1] == source.runs()


def test_a_route_that_was_not_the_last_keeps_no_run_alive():
    # A connection remembers a thousand of them, and a run may be one message of 16 MiB.
    source = Source()
    routes = [source.new_route("q") for _ in range(20)]
    for route in routes:
        source.publisher.publish(route, contents(b"x" * 1_000), route.queues, NO_RECEIPT)
    assert [routes[-1]] == [route for route in routes if route.run is not None]


def test_a_run_knows_where_it_came_from():
    source = Source()
    source.publish(b"a")
    run = source.route.run
    assert run is not None
    assert (7, 1, 131_072, "q") == (run.origin, run.channel, run.frame_octets_max, run.names.routing_key)


def test_one_run_for_all_queues():
    source = Source()
    other = queue(source.vhost, "other")
    source.publisher.publish(source.route, contents(b"a"), (source.bench.queue, other), NO_RECEIPT)
    mine, theirs = source.bench.queue.backlog.head(), other.backlog.head()
    assert mine is not None
    assert theirs is not None
    assert mine.run is theirs.run


def test_names_end_a_delivery():
    names = names_of("ex", "kéy")
    assert b"\x02ex\x04k\xc3\xa9y\xce" == names.tail


# -- contents, receipts -----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 20), min_size=1, max_size=6), st.data())
def test_a_part_of_contents_counts_its_own_octets(sizes, data):
    whole = contents(*[b"x" * size for size in sizes])
    stop = data.draw(st.integers(1, len(sizes)))
    start = data.draw(st.integers(0, stop - 1))
    part = whole.part(start, stop)
    assert (whole.contents[start:stop], sum(sizes[start:stop])) == (part.contents, part.body_octets)
    assert sum(map(len, part.contents)) == part.octets
    one = whole.single(stop - 1)
    assert ([whole.contents[stop - 1]], sizes[stop - 1]) == (one.contents, one.body_octets)
    assert (sizes[stop - 1], len(one.contents[0])) == (one.body_size, one.octets)


def test_a_receipt_counts_from_its_own_first_message_though_the_run_has_more():
    source = Source(x_max_length=3, x_overflow="reject-publish")
    source.publish(b"a", b"b")
    receipt = Receipt()
    source.publish(b"c", b"d", b"e", receipt=receipt)
    assert ([5], {1, 2}) == ([source.route.run.count], receipt.rejected)
    assert [b"a", b"b", b"c"] == source.bench.bodies()


def test_who_did_not_ask_learns_nothing():
    NO_RECEIPT.reject(range(5))
    assert set() == NO_RECEIPT.rejected
    NO_RECEIPT.wait(MemoryLog(), 5)
    assert (None, "") == (NO_RECEIPT.awaited, NO_RECEIPT.failed)


class Tickets(MemoryLog):
    """A log whose every append has a commit position."""

    def __init__(self) -> None:
        super().__init__()
        self.appended: list[tuple[int, ...]] = []

    def append(self, run, indexes, queue_ids):
        self.appended.append(queue_ids)
        return len(self.appended)


@pytest.mark.parametrize(
    ("persistent", "durable", "expected"),
    [(True, [True, False, True], 1), (True, [False, False], 0), (False, [True, True], 0)],
)
def test_only_persistent_messages_in_durable_queues_are_for_the_log(persistent, durable, expected):
    vhost = new_vhost()
    queues = [queue(vhost, f"q{i}", durable=each) for i, each in enumerate(durable)]
    log = Tickets()
    vhost.broker.log = log
    octets = content()
    run = Run(names_of("", "q"), RunAttributes(persistent=persistent), 1, [octets], len(octets), 1, 1, 0)
    receipt = Receipt()
    enqueue(log, run, range(1), queues, receipt)
    assert (log if expected else None, expected) == (receipt.log, receipt.position)
    assert [tuple(q.id for q in queues if q.durable)] * expected == log.appended


# -- routing by headers -----------------------------------------------------------------------------------------------


def targets(source: Source, exchange: str, key: str, **headers) -> tuple[list[str], dict | None]:
    vhost = source.vhost
    route = Route(1, names_of(exchange, key), mandatory=False, immediate=False)
    octets = content(b"body", props(headers=headers) if headers else props())
    bits = 2 if {"CC", "BCC"} & headers.keys() else 0
    found, changed = source.publisher.targets(vhost.exchanges[exchange], route, RunAttributes(wants=bits), octets)
    assert b"body" == Message(Run(route.names, PLAIN_ATTRIBUTES, 1, [changed], 0, 0, 0, 0), 0).body
    return sorted(q.name for q in found), decode_properties(property_octets(changed)).headers


def test_sender_selected_keys_route_too_and_bcc_is_taken_out():
    source = Source()
    for name in ("a", "b"):
        queue(source.vhost, name)
    assert (["a", "b", "q"], {"CC": ["a"], "k": 1}) == targets(source, "", "q", CC=["a"], BCC=["b", "a"], k=1)


def test_keys_that_are_no_strings_are_passed_over():
    source = Source()
    assert ["q"] == targets(source, "", "q", CC=[1, None, "nowhere"])[0]


def test_headers_exchanges_see_the_headers():
    source = Source()
    link(source.vhost, "amq.headers", "q", arguments={"k": "v"})
    assert ["q"] == targets(source, "amq.headers", "", k="v")[0]
    assert [] == targets(source, "amq.headers", "", k="w")[0]
    assert [] == targets(source, "amq.headers", "")[0]


# -- editing contents -------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.sampled_from([props(), props(app_id="a"), props(headers={"k": "v"}, priority=3)]))
def test_properties_are_replaced_and_nothing_else(body, properties):
    old = b"".join(content_frames(9, body, props(message_id="old"), piece=40))
    new = with_properties(old, properties)
    assert properties == property_octets(new)
    assert b"".join(content_frames(9, body, properties, piece=40)) == new


def test_one_header_goes_and_the_others_stay_as_they_were():
    old = content(b"b", props(headers={"a": 1, "BCC": ["x"], "z": "é"}, app_id="a"))
    assert content(b"b", props(headers={"a": 1, "z": "é"}, app_id="a")) == without_header(old, b"BCC")
    assert old == without_header(old, b"nothing of the kind")


def test_without_headers_there_is_nothing_to_take_out():
    old = content(b"b", props(app_id="a"))
    assert old is without_header(old, b"BCC")


def test_a_republished_message_is_a_run_of_its_own():
    source = Source()
    source.publish(b"a", b"bb", attributes=RunAttributes(priority=3))
    run = source.route.run
    assert run is not None
    source.bench.broker.clock.advance(50)
    broker, attributes = source.bench.broker, RunAttributes(persistent=True)
    copy = single_run(
        broker.log, names_of("x", "k"), Message(run, 1), props(delivery_mode=2), attributes, broker.clock.now_ms
    )
    assert (3, 1, 2, 2, source.bench.now_ms) == (
        copy.first_seq,
        copy.count,
        copy.body_octets,
        copy.body_size,
        copy.arrived_ms,
    )
    assert (attributes, "k", 7) == (copy.attributes, copy.names.routing_key, copy.origin)
    assert b"bb" == Message(copy, 0).body
    assert copy.octets == len(copy.content(0))


def test_consumers_get_what_was_published_in_order_whatever_the_runs():
    source = Source()
    reader: Reader = source.bench.reader()
    other = source.new_route("q")
    for i in range(30):
        if i % 3:
            source.publish(*[b"x"] * i)
        else:
            source.publisher.publish(other, contents(b"y"), other.queues, NO_RECEIPT)
    source.bench.turn()
    assert list(range(1, source.bench.broker.log.next_seq)) == reader.seqs


def test_what_one_read_brought_becomes_runs_of_half_a_mebibyte_at_most():
    vhost = new_vhost()
    target = queue(vhost, "q")
    route = Route(1, names_of("", "q"), mandatory=False, immediate=False)
    contents = [publish_content(100_000 + i) for i in range(9)]
    octets = sum(map(len, contents))
    Publisher(vhost, 1, 0).publish(
        route, Contents(PLAIN_ATTRIBUTES, contents, octets, octets, -1), (target,), NO_RECEIPT
    )
    runs = [entry.run for level in target.backlog.levels for entry in level]
    assert 9 == target.messages_ready
    assert max(run.octets for run in runs) <= READ_RUN_OCTETS_MAX
    assert contents == [content for run in runs for content in run.contents_at(range(run.count))]
    assert list(range(runs[0].first_seq, runs[0].first_seq + 9)) == [
        r.first_seq + i for r in runs for i in range(r.count)
    ]


def publish_content(size):
    """Return a content of one body frame."""
    header = b"\x02\x00\x01" + (14).to_bytes(4) + b"\x00\x3c\x00\x00" + size.to_bytes(8) + b"\x00\x00\xce"
    return header + b"\x03\x00\x01" + size.to_bytes(4) + b"x" * size + b"\xce"
