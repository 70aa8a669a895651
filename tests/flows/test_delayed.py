"""x-delayed-message: what waits, in which order it leaves, and as what. The time is in the test's hand."""

from datetime import UTC, datetime

import pytest
from pamqp import encode

from pybroker.core.delayed import cache, schedule as schedules
from pybroker.core.delayed.due import FAR_MS
from tests.fakes import Basic, Confirm, Exchange, Queue, Tx

TYPE = "x-delayed-message"


def declare(peer, name="x", inner="direct", **options):
    arguments = {"x-delayed-type": inner, **options.pop("arguments", {})}
    peer.call(Exchange.Declare(exchange=name, exchange_type=TYPE, arguments=arguments, **options))


def bind(peer, queue="q", exchange="x", key="k", arguments=None):
    peer.declare(queue)
    peer.call(Queue.Bind(queue=queue, exchange=exchange, routing_key=key, arguments=arguments or {}))


def send(peer, body, exchange="x", key="k", mandatory=False, properties=None, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    peer.publish(exchange, key, body, mandatory=mandatory, headers=headers, **(properties or {}))


def bodies(peer, queue="q"):
    return [message.body for message in peer.drain(queue)]


@pytest.fixture
def delayed(peer):
    declare(peer)
    bind(peer)
    return peer


def test_a_message_waits_for_its_delay_to_the_millisecond(world, delayed):
    send(delayed, b"m", x_delay=1_000)
    assert 1 == world.vhost.exchanges["x"].messages_delayed
    world.advance(999)
    assert [] == bodies(delayed)
    world.advance(1)
    assert [b"m"] == bodies(delayed)
    assert 0 == world.vhost.exchanges["x"].messages_delayed


def test_it_leaves_in_the_order_in_which_it_is_due_then_in_that_of_its_publishing(world, delayed):
    for body, delay in ((b"late", 3_000), (b"1", 1_000), (b"2", 1_000), (b"0", 500), (b"3", 1_000)):
        send(delayed, body, x_delay=delay)
    world.advance(5_000)
    assert [b"0", b"1", b"2", b"3", b"late"] == bodies(delayed)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-delay": 0},
        {"x-delay": -5},
        {"x-delay": "soon"},
        {"x-delay": True},
        {"x-delay": None},
        {"x-deliver-at": 5},
    ],
)
def test_without_a_delay_it_goes_at_once_and_as_it_came(delayed, headers):
    delayed.publish("x", "k", b"m", headers=headers)
    (message,) = delayed.drain("q")
    assert headers == message.headers


# The plugin takes all integers, fractions and texts that are integers.
@pytest.mark.parametrize("value", [1_000, encode.long_string, "1000", 1_000.7])
def test_a_delay_may_be_any_number(world, delayed, value):
    send(delayed, b"m", x_delay=1_000 if callable(value) else value)
    world.advance(999)
    assert [] == bodies(delayed)
    world.advance(1)
    assert [b"m"] == bodies(delayed)


def test_its_header_is_negative_when_it_is_delivered_and_delays_no_more(world, delayed):
    declare(delayed, "second")
    delayed.call(Exchange.Bind(destination="second", source="x", routing_key="k"))
    bind(delayed, "after", "second")
    send(delayed, b"m", x_delay=1_000, other="kept")
    world.advance(1_000)
    for queue in ("q", "after"):
        (message,) = delayed.drain(queue)
        assert {"x-delay": -1_000, "other": "kept"} == message.headers
        assert ("x", "k", False) == (message.method.exchange, message.method.routing_key, message.method.redelivered)


def test_all_else_of_it_stays(world, delayed):
    properties = {"message_id": "id", "delivery_mode": 2, "priority": 4, "expiration": "60000", "content_type": "t"}
    send(delayed, b"m", x_delay=1_000, properties=properties)
    world.advance(1_000)
    (message,) = delayed.drain("q")
    assert properties == {name: getattr(message.properties, name) for name in properties}


def test_it_lives_as_long_as_its_expiration_says_from_its_delivery_on(world, delayed):
    send(delayed, b"m", x_delay=1_000, properties={"expiration": "100"})
    world.advance(1_000)
    assert 1 == world.vhost.queues["q"].messages_ready
    world.advance(100)
    assert 0 == world.vhost.queues["q"].messages_ready


def test_a_time_is_a_time(world, delayed):
    at = world.clock.timestamp_ms + 5_000
    send(delayed, b"ms", x_deliver_at=at)
    send(delayed, b"timestamp", x_deliver_at=datetime.fromtimestamp(at // 1_000 + 1, UTC))
    world.advance(4_999)
    assert [] == bodies(delayed)
    world.advance(1)
    (message,) = delayed.drain("q")
    assert (b"ms", {"x-deliver-at": at, "x-delay": -5_000}) == (message.body, message.headers)
    world.advance(1_000)
    assert [b"timestamp"] == bodies(delayed)


def test_a_time_counts_more_than_a_delay(world, delayed):
    send(delayed, b"m", x_delay=10, x_deliver_at=world.clock.timestamp_ms + 1_000)
    world.advance(999)
    assert [] == bodies(delayed)
    world.advance(1)
    assert [b"m"] == bodies(delayed)


def test_who_sets_the_clock_moves_times_and_no_delays(world, delayed):
    send(delayed, b"delay", x_delay=60_000)
    send(delayed, b"time", x_deliver_at=world.clock.timestamp_ms + 60_000)
    world.clock.timestamp_ms += 60_000  # set forward
    world.advance(1_000)
    assert [b"time"] == bodies(delayed)
    send(delayed, b"time", x_deliver_at=world.clock.timestamp_ms + 2_000)
    world.clock.timestamp_ms -= 600_000  # and back
    world.advance(58_999)
    assert [] == bodies(delayed)
    world.advance(1)
    assert [b"delay"] == bodies(delayed)
    for _ in range(600):
        world.advance(1_000)
    assert [b"time"] == bodies(delayed)


def test_times_and_delays_leave_in_one_order(world, delayed):
    now = world.clock.timestamp_ms
    send(delayed, b"3", x_delay=300)
    send(delayed, b"1", x_deliver_at=now + 100)
    send(delayed, b"2", x_delay=200)
    send(delayed, b"4", x_deliver_at=now + 400)
    world.advance(1_000)
    assert [b"1", b"2", b"3", b"4"] == bodies(delayed)


@pytest.mark.parametrize("delay", [(1 << 32) + 1_000, 20 * 365 * 86_400_000, (1 << 63) - 1])
def test_no_delay_is_too_long(world, delayed, delay):
    send(delayed, b"m", x_delay=delay)
    world.advance(min(delay, FAR_MS) - 1)
    assert [] == bodies(delayed)
    world.advance(1)
    assert [b"m"] == bodies(delayed)


def test_the_bindings_of_the_moment_count(world, peer):
    declare(peer)
    send(peer, b"m", x_delay=1_000)
    bind(peer)
    world.advance(1_000)
    assert [b"m"] == bodies(peer)


def test_what_waits_counts_as_routed_and_is_counted_if_nobody_is_there_when_it_is_due(world, peer):
    declare(peer)
    peer.call(Confirm.Select())
    send(peer, b"m", x_delay=1_000, mandatory=True)
    assert isinstance(peer.next(), Basic.Ack)
    assert 0 == world.broker.totals.total("dropped")
    world.advance(1_000)
    assert (1, []) == (world.broker.totals.total("dropped"), peer.take())
    send(peer, b"m", mandatory=True)
    assert (312, "Basic.Ack") == (peer.next().method.reply_code, peer.next().name)


def test_an_alternate_exchange_has_what_nobody_takes_when_it_is_due(world, peer):
    declare(peer, arguments={"alternate-exchange": "ae"})
    peer.call(Exchange.Declare(exchange="ae", exchange_type="fanout"))
    bind(peer, "q", "ae")
    send(peer, b"m", x_delay=1_000)
    assert [] == bodies(peer)
    world.advance(1_000)
    assert [b"m"] == bodies(peer)


@pytest.mark.parametrize(
    ("inner", "bound", "sent"),
    [("topic", "a.*", "a.b"), ("fanout", "", "any"), ("x-consistent-hash", "5", "any"), ("x-random", "k", "any")],
)
def test_the_inner_type_routes(world, peer, inner, bound, sent):
    declare(peer, inner=inner)
    bind(peer, key=bound)
    send(peer, b"m", key=sent, x_delay=1_000)
    world.advance(1_000)
    assert [b"m"] == bodies(peer)
    peer.call(Queue.Unbind(queue="q", exchange="x", routing_key=bound))
    send(peer, b"m", key=sent, x_delay=1_000)
    world.advance(1_000)
    assert [] == bodies(peer)


def test_headers_route_as_well(world, peer):
    declare(peer, inner="headers")
    bind(peer, arguments={"x-match": "all", "a": 1})
    send(peer, b"yes", x_delay=1_000, a=1)
    send(peer, b"no", x_delay=1_000, a=2)
    world.advance(1_000)
    assert [b"yes"] == bodies(peer)


def test_copies_wait_too_and_nobody_learns_of_bcc(world, delayed):
    bind(delayed, "cc", key="c")
    bind(delayed, "bcc", key="b")
    send(delayed, b"m", x_delay=1_000, CC=["c"], BCC=["b"])
    world.advance(1_000)
    for queue in ("q", "cc", "bcc"):
        (message,) = delayed.drain(queue)
        assert {"x-delay": -1_000, "CC": ["c"]} == message.headers


def test_a_delayed_exchange_may_be_bound_to_another(world, peer):
    peer.call(Exchange.Declare(exchange="first", exchange_type="fanout"))
    declare(peer)
    bind(peer)
    bind(peer, "at once", "first")
    peer.call(Exchange.Bind(destination="x", source="first"))
    send(peer, b"m", exchange="first", x_delay=1_000)
    assert ([b"m"], []) == (bodies(peer, "at once"), bodies(peer))
    world.advance(1_000)
    assert [b"m"] == bodies(peer)


def test_dead_letters_wait_as_their_headers_say(world, delayed):
    delayed.declare("work", {"x-dead-letter-exchange": "x", "x-dead-letter-routing-key": "k"})
    delayed.publish("", "work", b"m", headers={"x-delay": 1_000})
    delayed.call(Basic.Get(queue="work"))
    delayed.send(Basic.Reject(1, False))
    assert [] == bodies(delayed)
    world.advance(1_000)
    (message,) = delayed.drain("q")
    assert ("work", -1_000) == (message.headers["x-death"][0]["queue"], message.headers["x-delay"])


def test_in_a_transaction_the_delay_counts_from_the_commit(world, delayed):
    delayed.call(Tx.Select())
    send(delayed, b"m", x_delay=1_000)
    world.advance(1_000)
    delayed.call(Tx.Commit())
    assert [] == bodies(delayed)
    world.advance(1_000)
    assert [b"m"] == bodies(delayed)
    send(delayed, b"undone", x_delay=1_000)
    delayed.call(Tx.Rollback())
    assert 0 == world.vhost.exchanges["x"].messages_delayed


def test_with_the_exchange_goes_what_waits(world, delayed, caplog):
    send(delayed, b"m", x_delay=1_000)
    send(delayed, b"m", x_delay=1_000)
    delayed.call(Exchange.Delete(exchange="x"))
    assert "exchange 'x' in vhost '/' is deleted with 2 messages that were not due" in caplog.messages
    assert not world.vhost.schedules
    declare(delayed)
    delayed.call(Queue.Bind(queue="q", exchange="x", routing_key="k"))
    world.advance(1_000)
    assert [] == bodies(delayed)


def test_with_the_virtual_host_goes_what_waits(world):
    world.broker.add_vhost("v")
    world.broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    peer = world.connect(vhost="v")
    declare(peer)
    send(peer, b"m", x_delay=1_000)
    vhost = world.broker.vhosts["v"]
    (schedule,) = vhost.schedules
    world.broker.delete_vhost("v")
    assert (True, 0, {}) == (schedule.deleted, schedule.messages, vhost.schedules)
    world.advance(2_000)


def test_more_than_one_turn_publishes_on_leave_all_the_same(world, delayed, monkeypatch):
    monkeypatch.setattr(schedules, "TURN_MESSAGES", 3)
    for number in range(10):
        send(delayed, b"%d" % number, x_delay=1_000)
    world.advance(1_000)
    assert [b"%d" % number for number in range(10)] == bodies(delayed)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({}, 406, "PRECONDITION_FAILED - Invalid argument, 'x-delayed-type' must be an existing exchange type"),
        (
            {"x-delayed-type": 5},
            406,
            "PRECONDITION_FAILED - Invalid argument, 'x-delayed-type' must be an existing exchange type",
        ),
        (
            {"x-delayed-type": TYPE},
            406,
            "PRECONDITION_FAILED - Invalid argument, 'x-delayed-type' must be an existing exchange type",
        ),
        ({"x-delayed-type": "nope"}, 503, "COMMAND_INVALID - unknown exchange type 'nope'"),
        (
            {"x-delayed-type": "x-consistent-hash", "hash-property": "p"},
            406,
            "PRECONDITION_FAILED - Unsupported property: p",
        ),
    ],
)
def test_an_inner_type_that_is_none_is_refused(peer, arguments, code, text):
    declared = Exchange.Declare(exchange="x", exchange_type=TYPE, arguments=arguments)
    assert (code, text) == peer.error(declared)


def test_the_inner_type_refuses_bindings(peer):
    declare(peer, inner="x-consistent-hash")
    peer.declare("q")
    assert 406 == peer.error(Queue.Bind(queue="q", exchange="x", routing_key="k"))[0]


def test_a_trace_names_no_schedule(world, delayed):
    delayed.declare("trace")
    delayed.call(Queue.Bind(queue="trace", exchange="amq.rabbitmq.trace", routing_key="publish.#"))
    world.vhost.trace(on=True)
    send(delayed, b"m", x_delay=1_000)
    (traced,) = delayed.drain("trace")
    assert [] == traced.headers["routed_queues"]


def test_a_full_disk_line_holds_it_back(world, delayed):
    send(delayed, b"m", x_delay=1_000)
    world.broker.log.uncommitted_octets = schedules.UNCOMMITTED_OCTETS_MAX + 1
    world.advance(1_000)
    assert [] == bodies(delayed)
    world.broker.log.uncommitted_octets = 0
    world.advance(schedules.HOLD_MS)
    assert [b"m"] == bodies(delayed)


def test_contents_in_memory_are_bounded_only_where_the_log_has_them(world, delayed, monkeypatch):
    monkeypatch.setattr(cache, "KEPT_MESSAGES", 1)
    for _ in range(5):
        send(delayed, b"m", x_delay=1_000)
    (schedule,) = world.vhost.schedules
    assert (5, 0) == (schedule.messages, schedule.messages_evicted)
