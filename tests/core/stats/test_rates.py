"""Rates of queues agree with a plain list of what happened; queues that rest cost a comparison, and no memory."""

import random

import pytest

from pybroker.core.stats import history, rates
from pybroker.core.stream import streams
from tests.fakes import Basic, Queue, World

WINDOWS_MS = (10_000, 60_000, 600_000)


@pytest.fixture
def world():
    return World()


@pytest.fixture
def peer(world):
    peer = world.connect()
    peer.declare("q")
    return peer


@pytest.fixture
def queue(world, peer):
    return world.vhost.queues["q"]


def wait(world, seconds):
    for _ in range(seconds):
        world.advance(1_000)


def publish(peer, count, name="q", body=b"x"):
    frames = [frame for _ in range(count) for frame in peer.publish_frames("", name, body)]
    peer.send(*frames)


def rates_of(world, queue):
    each = [(world.broker.rates.rate_in(queue, ms), world.broker.rates.rate_out(queue, ms)) for ms in WINDOWS_MS]
    return [pair[0] for pair in each], [pair[1] for pair in each]


class Model:
    """A list of the things that happened to the queue, each between two ticks."""

    def __init__(self, world, peer, seed):
        self.world, self.peer, self.random = world, peer, random.Random(seed)
        self.events = []  # when, in, out
        self.unacked = []

    def note(self, entered, left):
        self.events.append((self.world.clock.now_ms, entered, left))

    def act(self):
        peer, queue = self.peer, self.world.vhost.queues["q"]
        match self.random.choice(["publish", "publish", "get", "hold", "ack", "requeue", "purge", "drop"]):
            case "publish":
                publish(peer, count := self.random.randint(1, 20))
                self.note(count, 0)
            case "get":
                before = queue.messages_ready
                for _ in range(min(before, 5)):
                    peer.get("q", no_ack=True)
                self.note(0, min(before, 5))
            case "hold" if queue.messages_ready:
                self.unacked.append(peer.get("q", no_ack=False).method.delivery_tag)
            case "ack" if self.unacked:
                peer.send(Basic.Ack(self.unacked.pop()))
                self.note(0, 1)
            case "requeue" if self.unacked:
                peer.send(Basic.Nack(self.unacked.pop(), requeue=True))
            case "drop" if self.unacked:
                peer.send(Basic.Reject(self.unacked.pop(), requeue=False))
                self.note(0, 1)
            case "purge" if self.random.random() < 0.1:
                ready = queue.messages_ready
                peer.call(Queue.Purge(queue="q"))
                self.note(0, ready)

    def check(self):
        now_ms, queue = self.world.clock.now_ms, self.world.vhost.queues["q"]
        for window_ms, off_ms in zip(WINDOWS_MS, (3_000, 3_000, 33_000), strict=True):
            change = self.world.broker.rates.change(queue, window_ms)
            if now_ms - queue.declared_ms < 5_000:
                assert change is None
                continue
            assert abs(change.ms - min(window_ms, now_ms - queue.declared_ms)) <= off_ms
            found = [event for event in self.events if event[0] > now_ms - change.ms]
            assert (change.entered, change.left) == (sum(e[1] for e in found), sum(e[2] for e in found))
        assert queue.history is None or len(queue.history) <= history.FINE_MAX + 22


@pytest.mark.parametrize("seed", range(5))
def test_rates_agree_with_what_happened(world, peer, seed):
    model = Model(world, peer, seed)
    seconds = 0
    while seconds < 1_500:
        busy, pace = model.random.randint(5, 200), model.random.choice([0.05, 0.5, 0.9])
        for _ in range(busy):
            world.clock.advance(500)
            if model.random.random() < pace:
                model.act()
            world.advance(500)
            model.check()
        idle = model.random.choice([0, 20, 100, 800])
        wait(world, idle)
        model.check()
        seconds += busy + idle


def test_a_queue_is_idle_since_its_last_change(world, peer, queue):
    def idle_s():
        since_ms = world.broker.rates.idle_since_ms(queue)
        return None if since_ms is None else round((world.clock.timestamp_ms - since_ms) / 1_000)

    wait(world, 7)
    assert idle_s() == 7
    publish(peer, 1)
    assert idle_s() is None
    wait(world, 60)
    assert 54 <= idle_s() <= 60
    wait(world, 1_200)
    assert 1_254 <= idle_s() <= 1_260
    peer.get("q")
    assert idle_s() is None


@pytest.mark.parametrize("window_ms", [10_000, 60_000, 600_000])
def test_a_queue_that_is_not_used_has_the_rates_that_follow_from_its_change(world, queue, window_ms):
    rates, seen = world.broker.rates, set()
    for _ in range(75):
        change = rates.change(queue, window_ms)
        expected = None if change is None else 0.0
        assert (rates.rate_in(queue, window_ms), rates.rate_out(queue, window_ms)) == (expected, expected)
        seen.add(expected)
        wait(world, 1)
    assert seen == {None, 0.0}


def test_a_steady_queue_has_its_rate_in_all_windows(world, peer, queue):
    for _ in range(700):
        publish(peer, 20)
        for _ in range(5):
            peer.get("q")
        world.advance(1_000)
    assert rates_of(world, queue) == ([20.0] * 3, [5.0] * 3)


def test_nothing_is_known_of_a_new_queue(world, peer, queue):
    publish(peer, 10)
    wait(world, 4)
    assert rates_of(world, queue) == ([None] * 3, [None] * 3)
    wait(world, 1)
    assert rates_of(world, queue) == ([2.0] * 3, [0.0] * 3)


def test_the_rate_of_a_queue_that_stands_still_falls_to_nothing(world, peer, queue):
    for _ in range(20):
        publish(peer, 100)
        world.advance(1_000)
    wait(world, 13)
    (ten_seconds, minute, _), _ = rates_of(world, queue)
    assert (ten_seconds, minute > 0) == (0.0, True)


def test_a_queue_that_rested_for_long_has_its_rate_at_once(world, peer, queue):
    publish(peer, 1)
    wait(world, 1_000)
    assert len(queue.history) == 1
    publish(peer, 50)
    wait(world, 2)
    assert [change.ms for change in [world.broker.rates.change(queue, ms) for ms in WINDOWS_MS]] == [*WINDOWS_MS]
    assert rates_of(world, queue)[0] == [5.0, 0.833, 0.0833]


def test_messages_that_come_back_are_neither(world, peer, queue):
    publish(peer, 10)
    wait(world, 60)
    for _ in range(20):
        got = peer.get("q", no_ack=False)
        world.advance(1_000)
        peer.send(Basic.Nack(got.method.delivery_tag, requeue=True))
    assert [rate[:1] for rate in rates_of(world, queue)] == [[0.0], [0.0]]


def test_messages_from_before_the_start_did_not_come_in(world, peer, queue):
    publish(peer, 100)
    world.broker.rates.restored(queue)
    wait(world, 10)
    peer.call(Queue.Purge(queue="q"))
    assert rates_of(world, queue) == ([0.0] * 3, [10.0] * 3)


def test_the_time_to_drain_goes_by_the_last_minute(world, peer, queue):
    drain = world.broker.rates.time_to_drain_s
    assert drain(queue) == 0
    publish(peer, 500)
    assert drain(queue) is None
    wait(world, 70)
    assert drain(queue) is None
    for _ in range(70):
        publish(peer, 1)
        for _ in range(3):
            peer.get("q")
        world.advance(1_000)
    assert drain(queue) == pytest.approx(360 / 2, rel=0.05)
    publish(peer, 500)
    assert drain(queue) is None


@pytest.mark.parametrize(
    ("arguments", "room"),
    [
        ({"x-max-length": 1_000}, 1_000),
        ({"x-max-length-bytes": 8_000}, 800),
        ({"x-max-length": 1_000, "x-max-length-bytes": 8_000, "x-overflow": "reject-publish"}, 800),
    ],
)
def test_the_time_to_full_is_that_of_the_sooner_limit(world, peer, arguments, room):
    peer.declare("limited", arguments)
    queue, full = world.vhost.queues["limited"], world.broker.rates.time_to_full_s
    assert full(queue) is None
    for _ in range(70):
        publish(peer, 5, "limited", b"0123456789")
        world.advance(1_000)
    assert full(queue) == pytest.approx((room - 350) / 5, rel=0.05)
    publish(peer, 700, "limited", b"0123456789")
    assert full(queue) == 0
    wait(world, 700)
    assert full(queue) == 0
    for _ in range(10):
        peer.get("limited")
    assert full(queue) is None


def test_a_queue_is_full_if_no_usual_message_fits(world, peer):
    peer.declare("limited", {"x-max-length-bytes": 1_000, "x-overflow": "reject-publish"})
    for _ in range(4):
        peer.publish("", "limited", b"x" * 300)
    assert world.broker.rates.time_to_full_s(world.vhost.queues["limited"]) == 0


def test_a_queue_without_a_limit_is_never_full(world, peer, queue):
    publish(peer, 100)
    wait(world, 70)
    assert world.broker.rates.time_to_full_s(queue) is None


def test_a_deleted_queue_is_forgotten(world, peer):
    publish(peer, 1)
    wait(world, 10)
    assert len(world.broker.rates._moving) == 1
    peer.call(Queue.Delete(queue="q"))
    wait(world, 10)
    assert not world.broker.rates._moving


def test_very_many_queues_are_compared_some_in_each_round(world, peer, monkeypatch):
    monkeypatch.setattr(rates, "ROUND_RESTING", 10)
    monkeypatch.setattr(rates, "TURN_RESTING", 3)
    for i in range(35):
        peer.declare(f"q{i}")
    wait(world, 100)
    for i in range(35):
        publish(peer, 10, f"q{i}")
    wait(world, 20)
    assert len(world.broker.rates._moving) == 35
    wait(world, 60)
    each = [world.vhost.queues[f"q{i}"] for i in range(35)]
    assert {tuple(rates_of(world, queue)[0][:2]) for queue in each} == {(0.0, 0.0)}


def test_of_a_stream_leaves_what_is_too_old_or_too_much(world, peer, monkeypatch):
    monkeypatch.setattr(streams, "STREAM_OCTETS", 1 << 30)  # nothing moves, so nothing goes
    peer.declare("s", durable=True, arguments={"x-queue-type": "stream", "x-max-length-bytes": 1})
    stream, rates = world.vhost.queues["s"], world.broker.rates
    for _ in range(60):
        for _ in range(10):
            peer.publish("", "s", b"x")
        world.advance(1_000)
    assert rates.rate_in(stream, 60_000) == pytest.approx(10, abs=1)
    assert rates.rate_out(stream, 60_000) == pytest.approx(0, abs=1)
    assert (rates.time_to_drain_s(stream), rates.time_to_full_s(stream)) == (None, None)
    peer.publish("", "s", b"x")
    assert rates.idle_since_ms(stream) is None
