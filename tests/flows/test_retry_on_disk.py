"""Messages that wait for their retry outlive the process, with all that is known of their deliveries, and no more."""

import pytest

from tests.fakes import Basic, Confirm, Content, Queue, Tx
from tests.flows.test_on_disk import Life
from tests.store.faulty_disk import FaultyDisk

STEP_MS = 60_000


class RetryLife(Life):
    """A life with `retried`, whose one retry comes after a minute, and then goes to `dead`."""

    def declare(self) -> None:
        dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
        self.peer.declare("dead", durable=True)
        self.peer.declare("retried", {"x-retry-delays": f"{STEP_MS}ms", **dead}, durable=True)

    @property
    def queue(self):
        return self.world.vhost.queues["retried"]

    def publish(self, *bodies: bytes) -> None:
        for body in bodies:
            self.peer.publish("", "retried", body, delivery_mode=2)
        self.written()

    def written(self) -> None:
        self.log.commit()
        self.answer()

    def get(self, queue: str = "retried") -> Content | None:
        """Get a message; it is read back, if need be."""
        self.peer.send(Basic.Get(queue=queue))
        self.answer()
        (reply,) = self.peer.take()
        return reply if isinstance(reply, Content) else None

    def fail(self, message: Content) -> None:
        self.peer.send(Basic.Nack(message.method.delivery_tag, requeue=True))
        self.written()

    def advance(self, ms: int) -> None:
        for _ in range(3):  # it is read back before it is due
            self.world.advance(ms // 3)
            self.answer()
        self.world.advance(ms % 3 + 1_000)
        self.answer()


@pytest.fixture
def life() -> RetryLife:
    return RetryLife(FaultyDisk())


@pytest.mark.parametrize("was_delivered", [False, True])
@pytest.mark.parametrize("ends", ["killed", "killed killed", "killed stopped", "killed stopped killed"])
def test_a_kill_uses_up_no_retry(life, was_delivered, ends):
    life.publish(b"m")
    if was_delivered:
        assert not life.get().method.redelivered
    for end in ends.split():
        life = getattr(life, end)()
    first = life.get()
    assert (True, {}) == (first.method.redelivered, first.headers)
    life.fail(first)
    assert (1, None) == (life.queue.messages_delayed, life.get("dead"))
    life.advance(STEP_MS)
    second = life.get()
    assert (True, {"x-delivery-count": 1}) == (second.method.redelivered, second.headers)
    life.fail(second)
    assert b"m" == life.get("dead").body


def test_a_kill_keeps_the_retries_that_were_used(life):
    life.publish(b"m")
    life.fail(life.get())
    life = life.killed()
    assert 1 == life.queue.messages_delayed
    life.advance(STEP_MS)
    again = life.get()
    assert {"x-delivery-count": 1} == again.headers
    life.fail(again)
    assert b"m" == life.get("dead").body


# -- with other features ----------------------------------------------------------------------------------------------


def retried(peer, name="q", **arguments):
    """Declare a queue whose messages wait a minute when they come back."""
    known = {"x-delayed-retry-type": "all", "x-delayed-retry-min": STEP_MS}
    peer.declare(name, known | {key.replace("_", "-"): value for key, value in arguments.items()}, durable=True)
    return peer.world.vhost.queues[name]


def counts(queue):
    return queue.messages_ready, queue.messages_unacknowledged, queue.messages_delayed


def test_a_single_active_consumer_gets_them_and_its_heir_the_rest(world, peer):
    queue = retried(peer, x_single_active_consumer=True)
    active, heir = world.connect(), world.connect()
    active.call(Basic.Qos(prefetch_count=1))
    active.consume("q")
    heir.consume("q")
    for body in (b"1", b"2"):
        peer.publish("", "q", body)
    (first,) = active.take()
    active.send(Basic.Nack(first.method.delivery_tag, requeue=True))
    assert [b"2"] == active.bodies()
    assert (0, 1, 1) == counts(queue)
    active.disconnect()
    assert ((0, 0, 2), []) == (counts(queue), heir.take())
    world.advance(STEP_MS)
    assert [(b"1", {"x-delivery-count": 1}), (b"2", {"x-delivery-count": 1})] == [
        (each.body, each.headers) for each in heir.take()
    ]


def test_an_exclusive_queue_goes_with_those_that_wait(world, peer):
    peer.declare("mine", {"x-delayed-retry-type": "all", "x-delayed-retry-min": STEP_MS}, exclusive=True)
    peer.publish("", "mine", b"m")
    message = peer.get("mine", no_ack=False)
    peer.send(Basic.Nack(message.method.delivery_tag, requeue=True))
    queue = world.vhost.queues["mine"]
    assert (0, 0, 1) == counts(queue)
    peer.disconnect()
    assert "mine" not in world.vhost.queues
    world.advance(2 * STEP_MS)


def test_dead_letters_that_cannot_go_stay_and_others_wait(world, peer):
    arguments = {"x-retry-delays": "1m", "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    arguments |= {"x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}
    peer.declare("q", arguments | {"x-queue-type": "quorum"}, durable=True)
    queue = world.vhost.queues["q"]
    peer.publish("", "q", b"m", delivery_mode=2)
    for _ in range(2):
        message = peer.get("q", no_ack=False)
        peer.send(Basic.Nack(message.method.delivery_tag, requeue=True))
        world.advance(STEP_MS)
    assert (1, (0, 0, 0)) == (queue.messages, counts(queue))
    peer.declare("dead", durable=True)
    world.advance(1_000)
    letter = peer.get("dead")
    assert (b"m", "delivery_limit", 0) == (letter.body, letter.headers["x-death"][0]["reason"], queue.messages)


def test_a_delivery_that_times_out_waits_for_its_retry(world, peer):
    queue = retried(peer, x_consumer_timeout=60_000, x_delayed_retry_type="returned")
    peer.publish("", "q", b"m")
    reader = world.connect()
    reader.consume("q")
    reader.take()
    for _ in range(70):
        world.advance(1_000)
    assert (0, 0, 1) == counts(queue)


@pytest.mark.parametrize("kind", ["all", "returned", "failed"])
def test_what_a_channel_recovers_is_returned(world, peer, kind):
    queue = retried(peer, x_delayed_retry_type=kind)
    peer.publish("", "q", b"m")
    reader = world.connect()
    reader.get("q", no_ack=False)
    reader.call(Basic.Recover(requeue=True))
    waits = kind != "failed"
    assert (not waits, 0, waits) == counts(queue)
    world.advance(STEP_MS)
    assert {"x-delivery-count": 1} == reader.get("q").headers


def test_a_transaction_that_is_rolled_back_delays_nothing(world, peer):
    queue = retried(peer)
    peer.publish("", "q", b"m")
    reader = world.connect()
    reader.call(Tx.Select())
    message = reader.get("q", no_ack=False)
    reader.send(Basic.Nack(message.method.delivery_tag, requeue=True))
    assert (0, 1, 0) == counts(queue)
    reader.call(Tx.Rollback())
    assert (0, 1, 0) == counts(queue)
    reader.send(Basic.Nack(message.method.delivery_tag, requeue=True))
    reader.call(Tx.Commit())
    assert (0, 0, 1) == counts(queue)
    world.advance(STEP_MS)
    assert {"x-delivery-count": 1} == reader.get("q").headers


def test_messages_return_to_their_priority(world, peer):
    queue = retried(peer, x_max_priority=3)
    for priority in (0, 3, 1):
        peer.publish("", "q", b"%d" % priority, priority=priority)
    reader = world.connect()
    message = reader.get("q", no_ack=False)
    reader.send(Basic.Nack(message.method.delivery_tag, requeue=True))
    assert (b"3", (2, 0, 1)) == (message.body, counts(queue))
    assert b"1" == reader.get("q").body
    world.advance(STEP_MS)
    assert [b"3", b"0"] == [reader.get("q").body, reader.get("q").body]


@pytest.mark.parametrize("of_message", [False, True])
def test_the_time_to_live_runs_on_while_a_message_waits(world, peer, of_message):
    peer.declare("dead")
    dead = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": "dead"}
    queue = retried(peer, **dead, **({} if of_message else {"x_message_ttl": 30_000}))
    peer.publish("", "q", b"m", **({"expiration": "30000"} if of_message else {}))
    message = peer.get("q", no_ack=False)
    peer.send(Basic.Nack(message.method.delivery_tag, requeue=True))
    world.advance(40_000)
    assert (0, 0, 1) == counts(queue)
    world.advance(20_000)
    assert (0, 0, 0) == counts(queue)
    assert "expired" == peer.get("dead").headers["x-death"][0]["reason"]


@pytest.mark.parametrize("overflow", ["drop-head", "reject-publish"])
def test_those_that_wait_count_for_the_length(world, peer, overflow):
    queue = retried(peer, x_max_length=2, x_overflow=overflow)
    peer.call(Confirm.Select())
    peer.publish("", "q", b"1")
    peer.take()
    message = peer.get("q", no_ack=False)
    peer.send(Basic.Nack(message.method.delivery_tag, requeue=True))
    for body in (b"2", b"3"):
        peer.publish("", "q", body)
    answers = [each.name for each in peer.take()]
    refused = overflow == "reject-publish"
    assert (["Basic.Ack", "Basic.Nack" if refused else "Basic.Ack"], (1, 0, 1)) == (answers, counts(queue))
    world.advance(STEP_MS)
    assert [b"1", b"2" if refused else b"3"] == [peer.get("q").body, peer.get("q").body]


def test_a_queue_in_which_some_wait_is_not_empty_and_takes_them_with_it(world, peer):
    queue = retried(peer)
    peer.publish("", "q", b"m")
    message = peer.get("q", no_ack=False)
    peer.send(Basic.Nack(message.method.delivery_tag, requeue=True))
    assert 406 == peer.error(Queue.Delete(queue="q", if_empty=True))[0]
    assert (0, 0, 1) == counts(queue)
    assert 1 == peer.call(Queue.Purge(queue="q")).message_count
    assert (0, 0, 0) == counts(queue)
    peer.publish("", "q", b"n")
    message = peer.get("q", no_ack=False)
    peer.send(Basic.Nack(message.method.delivery_tag, requeue=True))
    assert 0 == peer.call(Queue.Delete(queue="q")).message_count  # ready ones, as in RabbitMQ
    assert "q" not in world.vhost.queues
    world.advance(2 * STEP_MS)


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_start_in_which_all_messages_wait_leaves_a_queue_that_delivers(life, end):
    life.publish(b"m")
    life.fail(life.get())
    life = getattr(life, end)()
    life.publish(b"n")
    reader = life.world.connect()
    reader.consume("retried")
    assert [b"n"] == reader.bodies()
    life.publish(b"o")
    assert [b"o"] == reader.bodies()
    life.advance(STEP_MS)
    assert [b"m"] == reader.bodies()


# -- clocks -----------------------------------------------------------------------------------------------------------

HOUR_MS = 3_600_000


@pytest.mark.parametrize("step_ms", [-HOUR_MS, HOUR_MS])
def test_a_clock_that_is_set_while_the_broker_runs_changes_no_due_time(life, step_ms):
    life.publish(b"m")
    life.fail(life.get())
    life.world.clock.timestamp_ms += step_ms
    life.world.advance(STEP_MS - 1)
    assert 1 == life.queue.messages_delayed
    life.world.advance(1)
    assert 0 == life.queue.messages_delayed


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_a_clock_that_is_set_back_before_a_start_does_not_lengthen_a_delay(life, end):
    life.publish(b"m")
    life.fail(life.get())
    life = getattr(life, end)(-HOUR_MS)
    assert 1 == life.queue.messages_delayed
    life.advance(STEP_MS)
    assert 0 == life.queue.messages_delayed
    # And further messages wait as long as they are to.
    life.fail(life.get())
    assert b"m" == life.get("dead").body
    life.publish(b"n")
    life.fail(life.get())
    life.world.advance(STEP_MS - 1_000)
    assert 1 == life.queue.messages_delayed
    life.world.advance(1_000)
    assert 0 == life.queue.messages_delayed


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_time_that_the_clock_says_has_passed_before_a_start_counts(life, end):
    life.publish(b"m", b"n")
    life.fail(life.get())
    life = getattr(life, end)(STEP_MS // 2)
    assert 1 == life.queue.messages_delayed
    life = getattr(life, end)(HOUR_MS)
    assert 0 == life.queue.messages_delayed
    assert [{"x-delivery-count": 1}, {}] == [life.get().headers, life.get().headers]


@pytest.mark.parametrize(
    ("ends", "ready"), [("killed", 0), ("killed killed", 0), ("stopped", 2), ("stopped killed", 2)]
)
def test_no_end_loses_messages_that_an_operator_had_retried(life, ends, ready):
    life.publish(b"1", b"2", b"3")
    for _ in range(3):
        life.fail(life.get())
    assert life.queue.delayed.retry(2) == 2
    life.world.advance(1_000)
    life.answer()
    assert (life.queue.messages_ready, life.queue.messages_delayed) == (2, 1)
    for end in ends.split():
        life = getattr(life, end)()
    # The log keeps the due times that it has, until a clean stop.
    assert (life.queue.messages_ready, life.queue.messages_delayed) == (ready, 3 - ready)
    life.queue.delayed.retry(9)
    life.advance(3_000)
    assert (life.queue.messages_ready, life.queue.messages_delayed) == (3, 0)
    assert sorted(life.get().body for _ in range(3)) == [b"1", b"2", b"3"]
    assert life.get() is None


def test_one_that_was_retried_and_acknowledged_is_gone(life):
    life.publish(b"1", b"2")
    for _ in range(2):
        life.fail(life.get())
    life.queue.delayed.retry(1)
    life.world.advance(1_000)
    life.answer()
    life.peer.send(Basic.Ack(life.get().method.delivery_tag))
    life.written()
    life = life.killed()
    assert (life.queue.messages_ready, life.queue.messages_delayed) == (0, 1)
