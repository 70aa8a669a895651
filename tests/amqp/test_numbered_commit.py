"""Transactions that their publisher numbers: in their streams once, all or none, whatever happens to the broker."""

import random

import pytest

from tests.fakes import Channel, Queue, Tx
from tests.flows.test_streams_on_disk import StreamLife
from tests.store.faulty_disk import FaultyDisk


class NumberedLife(StreamLife):
    """A broker with the stream `s`, whose peer is in a transaction."""

    def __init__(self, disk, wall_ms=0):
        super().__init__(disk, wall_ms)
        self.peer.call(Tx.Select())

    def commit(self, sequence, *bodies, key="s", publisher="p", **options):
        """Publish and commit; return at once."""
        headers = {"x-pybroker-publisher": publisher, "x-pybroker-sequence": sequence}
        for body in bodies:
            self.peer.publish("", key, body, headers=headers, **options)
            headers = {}
        self.peer.send(Tx.Commit())
        self.turn()

    def committed(self, sequence, *bodies, **options):
        """Do the same; tell whether it was confirmed when the disk had answered."""
        self.commit(sequence, *bodies, **options)
        self.answer()
        return [type(each) for each in self.peer.take()] == [Tx.CommitOk]


@pytest.fixture
def life():
    return NumberedLife(FaultyDisk())


def test_a_transaction_that_comes_again_is_confirmed_and_not_enqueued(life):
    assert life.committed(1, b"0", b"1")
    assert life.committed(1, b"1", b"0")
    assert life.committed(0, b"older")
    assert life.committed(2, b"2")
    assert life.committed(1, b"of another", publisher="q")
    assert [b"0", b"1", b"2", b"of another"] == list(life.read().values())
    assert [("p", 2), ("q", 1)] == life.stream.tracking.publisher_ids


def test_a_kill_leaves_messages_and_number_or_neither(life):
    assert life.committed(1, b"0")
    life.commit(2, b"lost")
    life = life.killed()
    life.answer()
    assert 1 == life.stream.tracking.publisher_id("p")
    assert life.committed(2, b"1")
    assert life.committed(2, b"1")
    assert {0: b"0", 1: b"1"} == life.read()


def test_one_that_comes_again_is_confirmed_when_the_first_one_is_on_disk(life):
    life.commit(1, b"0")
    life.commit(1, b"0")
    assert [] == life.peer.take()
    life.answer()
    assert [Tx.CommitOk] * 2 == [type(each) for each in life.peer.take()]
    assert {0: b"0"} == life.read()


def test_after_a_start_a_commit_waits_until_the_numbers_are_read_back(life):
    assert life.committed(1, b"0")
    life = life.killed()
    life.commit(1, b"0")
    life.commit(2, b"1")
    assert not life.stream.tracking.is_ready
    assert [] == life.peer.take()
    life.answer()
    life.world.run()
    life.turn()
    life.answer()
    assert [Tx.CommitOk] * 2 == [type(each) for each in life.peer.take()]
    assert {0: b"0", 1: b"1"} == life.read()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("q", "reaches queue 'q' in vhost '/', which is no stream"),
        ("nowhere", "has a mandatory message to exchange '' with routing key 'nowhere', which reaches no stream"),
    ],
)
def test_nothing_is_published_if_a_part_would_be_lost_or_doubled(life, key, text):
    headers = {"x-pybroker-publisher": "p", "x-pybroker-sequence": 1}
    life.peer.publish("", "s", b"0", headers=headers)
    life.peer.publish("", key, b"1", mandatory=True)
    code, reason = life.peer.error(Tx.Commit())
    assert (406, f"PRECONDITION_FAILED - transaction 1 of publisher 'p' {text}") == (code, reason)
    life.answer()
    assert ({}, None) == (life.read(), life.stream.tracking.publisher_id("p"))


def test_an_immediate_message_may_be_dropped_and_has_no_place_there(life):
    headers = {"x-pybroker-publisher": "p", "x-pybroker-sequence": 1}
    life.peer.publish("", "s", b"0", headers=headers, immediate=True)
    assert 406 == life.peer.error(Tx.Commit())[0]


def test_a_wrong_number_closes_the_channel(life):
    life.peer.publish("", "s", b"0", headers={"x-pybroker-sequence": 1})
    assert isinstance(life.peer.next(), Channel.Close)


def test_a_stream_that_is_gone_takes_nothing_and_refuses_nothing(life):
    headers = {"x-pybroker-publisher": "p", "x-pybroker-sequence": 1}
    life.peer.publish("", "s", b"0", headers=headers)
    life.world.connect().send(Queue.Delete(queue="s"))
    life.answer()
    life.peer.send(Tx.Commit())
    life.turn()
    life.answer()
    assert [Tx.CommitOk] == [type(each) for each in life.peer.take()]


@pytest.mark.parametrize("seed", range(15))
def test_kills_while_transactions_come_again(seed):
    """A publisher that repeats what was not confirmed has each transaction there once and whole, in order."""
    rng = random.Random(seed)
    disk, number, least = FaultyDisk(), 1, 0
    for _ in range(6):
        life = NumberedLife(disk)
        life.answer()
        for _ in range(rng.randrange(6)):
            life.commit(number, *(b"%d %d" % (number, row) for row in range(3)))
            if rng.random() < 0.3:
                life.move()
            if rng.random() < 0.8:
                life.answer()
                assert [Tx.CommitOk] == [type(each) for each in life.peer.take()]
                least = number
                number += 1
            else:
                break
        disk = life.disk.crash(rng)
    life = NumberedLife(disk)
    life.answer()
    found = list(life.read().values())
    assert [b"%d %d" % (each, row) for each in range(1, len(found) // 3 + 1) for row in range(3)] == found
    assert least <= len(found) // 3 <= number
    assert (life.stream.tracking.publisher_id("p") or 0) == len(found) // 3


@pytest.mark.parametrize("first", [True, False])
def test_a_direct_reply_is_refused_as_it_would_leave_each_time(life, first):
    client = life.world.connect()
    client.consume("amq.rabbitmq.reply-to", no_ack=True)
    client.publish("", "s", b"question", reply_to="amq.rabbitmq.reply-to")
    address = next(iter(life.stream.runs_in_memory)).content(0).split(b"amq.rabbitmq.reply-to.")[1].split(b"\xce")[0]
    numbered = {"x-pybroker-publisher": "p", "x-pybroker-sequence": 1}
    if not first:
        life.peer.publish("", "s", b"0", headers=numbered)
    frames = life.peer.publish_frames(
        "", f"amq.rabbitmq.reply-to.{address.decode()}", b"answer", headers=numbered if first else {}
    )
    text = "transaction 1 of publisher 'p' has a direct reply, which reaches no stream"
    assert (406, f"PRECONDITION_FAILED - {text}") == life.peer.error(*frames)
    assert [] == client.bodies()
