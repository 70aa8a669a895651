"""DeadLetterQueue: what left a queue for its dead letter exchange waits its turn, keeps its order, and tells its
story."""

import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.queue.dead_letter import route
from pybroker.core.queue.dead_letter.route import TURN_COST, depart
from pybroker.core.routing.publish import names_of
from pybroker.message import Message
from pybroker.run import PLAIN_ATTRIBUTES, Entry, Run
from pybroker.wire.properties import Properties, decode_properties, encode_properties
from pybroker.wire.table import Table
from tests.readers import Bench, run_of
from tests.strategies import few, tables
from tests.streams import content_frames, props
from tests.topology import exchange, link, new_vhost, queue, wired


def letters(bench: Bench) -> list[Message]:
    return [Message(entry.run, i) for level in bench.queue.backlog.levels for entry in level for i in entry.indexes]


def headers(message: Message) -> dict[str, Any]:
    found = decode_properties(message.property_octets).headers
    assert found is not None
    return found


def deaths(message: Message) -> list[tuple[str, str, int]]:
    return [(death["queue"], death["reason"], death["count"]) for death in headers(message)["x-death"]]


@pytest.fixture
def benches() -> tuple[Bench, Bench]:
    """A queue with room for two, and the one its dead letters go to."""
    vhost = new_vhost()
    dead = Bench(vhost, "dead")
    return Bench(vhost, "q", x_max_length=2, x_dead_letter_exchange="", x_dead_letter_routing_key="dead"), dead


def test_nothing_is_routed_before_its_turn(benches):
    bench, dead = benches
    bench.publish(b"a", b"b", b"c")
    assert (1, []) == (len(bench.broker.dead_letters), dead.bodies())
    bench.turn()
    assert (0, [b"a"]) == (len(bench.broker.dead_letters), dead.bodies())


def test_one_turn_routes_a_share_of_many(benches):
    bench, dead = benches
    bench.flood(5_002)
    assert 5_000 == len(bench.broker.dead_letters)
    bench.broker.pump()
    assert 0 < len(dead.ready()) <= TURN_COST
    bench.turn()
    assert 5_000 == len(dead.ready())


def test_letters_keep_the_order_in_which_they_left(benches):
    bench, dead = benches
    for i in range(50):
        bench.publish(b"%d" % i)
    bench.turn()
    assert [b"%d" % i for i in range(48)] == dead.bodies()
    assert [b"48", b"49"] == bench.bodies()


def test_a_letter_takes_a_new_seq_and_time(benches):
    bench, dead = benches
    bench.flood(2)
    bench.broker.clock.advance(700)
    bench.flood(1)
    bench.turn()
    (message,) = letters(dead)
    assert (4, bench.now_ms) == (message.seq, message.run.arrived_ms)


def test_a_queue_without_an_exchange_for_them_just_loses_them():
    bench = Bench(x_max_length=2)
    bench.flood(5)
    assert ([4, 5], 0) == (bench.ready(), len(bench.broker.dead_letters))


def test_a_queue_deleted_meanwhile_still_sends_its_letters(benches):
    bench, dead = benches
    bench.flood(5)
    bench.vhost.delete_queue(bench.queue)
    bench.turn()
    assert 3 == len(dead.ready())


def test_a_target_deleted_meanwhile_gets_none(benches):
    bench, dead = benches
    bench.flood(5)
    bench.vhost.delete_queue(dead.queue)
    bench.turn()
    assert (0, 0) == (dead.queue.messages, len(bench.broker.dead_letters))


def test_bindings_of_the_moment_count_for_each_letter():
    # Like letters share one look at the bindings; it must not outlive a change of them.
    vhost = new_vhost()
    one, other = Bench(vhost, "one"), Bench(vhost, "other")
    bench = Bench(vhost, "q", x_max_length=0, x_dead_letter_exchange="amq.fanout")
    link(vhost, "amq.fanout", "one")
    bench.flood(1)
    bench.turn()
    link(vhost, "amq.fanout", "other")
    bench.flood(1)
    bench.turn()
    assert (2, 1) == (len(one.ready()), len(other.ready()))


def test_like_letters_have_their_own_bodies_and_unlike_ones_their_own_headers(benches):
    bench, dead = benches
    names = names_of("amq.topic", "a.b")
    for i, properties in enumerate([props(), props(), props(message_id="m"), props(headers={"k": "v"})]):
        content = b"".join(content_frames(1, b"%d" % i, properties))
        run = Run(names, PLAIN_ATTRIBUTES, bench.broker.log.take(1), [content], len(content), 1, 1, bench.now_ms, 1)
        depart(bench.queue, [Entry(run, range(1))], "rejected")
    bench.turn()
    assert [b"0", b"1", b"2", b"3"] == dead.bodies()
    messages = letters(dead)
    assert [None, None, "m", None] == [decode_properties(m.property_octets).message_id for m in messages]
    assert [False, False, False, True] == ["k" in headers(m) for m in messages]
    assert {"a.b"} == {headers(m)["x-death"][0]["routing-keys"][0] for m in messages}


def test_the_time_of_death_is_that_of_each_letter(benches):
    bench, dead = benches
    for _ in range(3):
        bench.flood(2)
        bench.turn()
        bench.broker.clock.advance(1_000)
    times = [headers(m)["x-death"][0]["time"].timestamp() for m in letters(dead)]
    assert [0, 0, 1, 1] == [time - times[0] for time in times]


# Each death is a part of the next one's headers, so a chain costs the square of its length.
@pytest.mark.parametrize("count", [200, pytest.param(1_000, marks=pytest.mark.slow)])
def test_a_chain_of_queues_needs_no_deep_stack(count):
    vhost = new_vhost()
    for i in range(count):
        arguments = {"x_max_length": 0, "x_dead_letter_exchange": "", "x_dead_letter_routing_key": f"q{i + 1}"}
        queue(vhost, f"q{i}", wired(**arguments))
    last = Bench(vhost, f"q{count}")
    limit = sys.getrecursionlimit()
    frame, depth = sys._getframe(), 0
    while frame:
        frame, depth = frame.f_back, depth + 1
    sys.setrecursionlimit(depth + 80)
    try:
        vhost.queues["q0"].enqueue(run_of([b"traveller"]), range(1), NO_RECEIPT)
        last.turn()
    finally:
        sys.setrecursionlimit(limit)
    assert [b"traveller"] == last.bodies()
    (message,) = letters(last)
    assert [(f"q{i}", "maxlen", 1) for i in reversed(range(count))] == deaths(message)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_cycle_that_nobody_rejected_in_ends(length, caplog):
    vhost = new_vhost()
    for i in range(length):
        key = f"q{(i + 1) % length}"
        queue(vhost, f"q{i}", wired(x_max_length=0, x_dead_letter_exchange="", x_dead_letter_routing_key=key))
    vhost.queues["q0"].enqueue(run_of([b"x"]), range(1), NO_RECEIPT)
    turns = 0
    while vhost.broker.turn.queues:
        vhost.broker.pump()
        turns += 1
        assert turns <= 2 * length + 2
    assert 0 == sum(one.messages for one in vhost.queues.values())
    assert "form a cycle" in caplog.text


def test_a_warning_about_many_letters_is_one_line(caplog):
    bench = Bench(x_max_length=0, x_dead_letter_exchange="missing")
    bench.flood(1_000)
    bench.turn()
    assert 1 == caplog.text.count("exchange 'missing' does not exist")


def test_an_exchange_made_later_gets_the_next_ones():
    bench = Bench(x_max_length=0, x_dead_letter_exchange="later")
    bench.flood(1)
    bench.turn()
    dead = Bench(bench.vhost, "dead")
    exchange(bench.vhost, "later", "fanout")
    link(bench.vhost, "later", "dead")
    bench.flood(1)
    bench.turn()
    assert 1 == len(dead.ready())


# -- many queues, and odd letters -------------------------------------------------------------------------------------


def dying(count: int) -> tuple[list[Bench], Bench]:
    """Return queues without room, and the one their dead letters go to."""
    vhost = new_vhost()
    dead = Bench(vhost, "dead")
    link = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": "dead"}
    return [Bench(vhost, f"q{i}", x_max_length=0, **link) for i in range(count)], dead


def test_a_queue_with_very_many_leaves_the_others_their_share():
    (many, few), dead = dying(2)
    many.flood(10_000)
    few.publish(b"first", b"second")
    dead.broker.pump()
    bodies = dead.bodies()
    assert [b"first", b"second"] == [body for body in bodies if body != b"x"]
    assert len(bodies) <= TURN_COST
    dead.turn()
    assert 10_002 == len(dead.bodies())


def test_what_comes_later_of_a_queue_stands_behind_what_waits():
    (bench, other), dead = dying(2)
    bench.publish(*[b"%d" % i for i in range(300)])
    other.flood(300)
    for i in range(300, 310):
        dead.broker.pump()
        bench.publish(b"%d" % i)
    dead.turn()
    assert [b"%d" % i for i in range(310)] == [body for body in dead.bodies() if body != b"x"]


def test_a_letter_that_fails_does_not_stop_those_behind_it(monkeypatch):
    (bad, good), dead = dying(2)
    original = route._letter

    def letter(queue, *others):
        if queue is bad.queue:
            raise ZeroDivisionError
        return original(queue, *others)

    monkeypatch.setattr(route, "_letter", letter)
    bad.flood(3)
    good.publish(b"a", b"b")
    for _ in range(4):
        try:
            dead.broker.pump()
        except ZeroDivisionError:
            continue
    assert ([b"a", b"b"], 0) == (dead.bodies(), len(dead.broker.dead_letters))


@pytest.mark.parametrize(("found", "expected"), [((1 << 63) - 1, (1 << 63) - 1), (-5, -4), ("7", 1), (None, 1)])
def test_a_count_that_a_client_wrote_never_leaves_its_type(found, expected):
    (bench,), dead = dying(1)
    death = Table({"queue": "q0", "reason": "maxlen", "count": found})
    content = b"".join(content_frames(0, b"x", props(headers={"x-death": [death]})))
    run = run_of([b"x"], bench.broker.log.take(1))
    run.contents = [content]
    depart(bench.queue, [Entry(run, range(1))], "maxlen")
    dead.turn()
    (message,) = letters(dead)
    assert [("q0", "maxlen", expected)] == deaths(message)


@few
@given(tables, st.sampled_from(["x-death", "x-first-death-queue", "x-last-death-reason"]))
def test_whatever_headers_a_client_made_its_letter_arrives(table, key):
    (bench,), dead = dying(1)
    if table and key not in table:
        first = next(iter(table))
        table[key], table.types[key] = table[first], table.types[first]
    octets = encode_properties(Properties(headers=table))
    run = run_of([b"x"], bench.broker.log.take(1))
    run.contents = [b"".join(content_frames(0, b"x", octets))]
    depart(bench.queue, [Entry(run, range(1))], "expired")
    dead.turn()
    (message,) = letters(dead)
    newest = headers(message)["x-death"][0]
    assert ("q0", "expired", 1) == (newest["queue"], newest["reason"], newest["count"])


def test_a_letter_whose_headers_have_more_entries_than_can_be_read_is_dropped_and_told_of_once(caplog):
    (bench,), dead = dying(1)
    grown = Table({f"{i:x}": None for i in range(16_383)})
    content = b"".join(content_frames(0, b"x", encode_properties(Properties(headers=grown))))
    for _ in range(3):
        run = run_of([b"x"], bench.broker.log.take(1))
        run.contents = [content]
        depart(bench.queue, [Entry(run, range(1))], "expired")
    bench.flood(1)
    dead.turn()
    assert [b"x"] == dead.bodies()
    said = "Message dropped: its headers grew too large in queue 'q0' in vhost '/': table of more than 16384 entries"
    assert [said] == [record.getMessage() for record in caplog.records]
