"""Messages that wait for their retry outlive the process, with all that is known of their deliveries, and no more."""

import pytest

from tests.fakes import Basic, Content
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
