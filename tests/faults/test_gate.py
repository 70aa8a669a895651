"""Messages that move to a queue whose definition is not on disk yet are in one of the two places.

Another process holds SQLite's lock, as a slow disk would hold up the commit: nothing of a declaration is written.
"""

import contextlib
import sqlite3
import time

import pytest
from pamqp import commands

from tests.checker import body, read_body
from tests.faults.load import declare
from tests.interop.peer import PERSISTENT, Peer

WRITTEN_S = 1.0  # what may be written is written long before
NEW = "new"
MONEY = body(1, 1, 300)


@contextlib.contextmanager
def definitions_held_back(broker):
    """Let nothing be written to the definitions while the context lasts."""
    connection = sqlite3.connect(broker.data / "definitions.sqlite", isolation_level=None, timeout=10)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
    finally:
        connection.close()


def times_written(broker):
    return sum(path.read_bytes().count(MONEY) for path in broker.data.glob("groups/local/seg.*"))


def publish_confirmed(peer, queue):
    peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
    peer.publish("", queue, MONEY, PERSISTENT)
    peer.expect(commands.Basic.Ack)


def move_in_a_transaction(peer):
    """Publish to a queue that may not be on disk and ack the original; the answer is not waited for."""
    peer.call(commands.Tx.Select(), commands.Tx.SelectOk, channel=2)
    peer.send(commands.Basic.Get(queue="old"), channel=2)
    tag = peer.read_delivery().method.delivery_tag
    peer.publish("", NEW, MONEY, PERSISTENT, channel=2)
    peer.send(commands.Basic.Ack(tag), channel=2)
    peer.send(commands.Tx.Commit(), channel=2)


def reject_to_the_dead_letter_queue(peer):
    """Have the broker move it."""
    peer.send(commands.Basic.Get(queue="dying"), channel=2)
    tag = peer.read_delivery().method.delivery_tag
    peer.send(commands.Basic.Reject(tag, requeue=False), channel=2)


def found(broker, *queues):
    """Return in which of the queues, as far as they exist, the message is."""
    places = []
    for queue in queues:
        with Peer(broker.address) as peer:
            peer.open()
            peer.send(commands.Queue.Declare(queue=queue, passive=True))
            answer = peer.expect(commands.Queue.DeclareOk, commands.Channel.Close)
            if isinstance(answer, commands.Queue.DeclareOk) and answer.message_count:
                peer.send(commands.Basic.Get(queue=queue, no_ack=True))
                assert read_body(peer.read_delivery().body) == (1, 1)
                places.append(queue)
    return places


@pytest.mark.parametrize(("old", "move"), [("old", move_in_a_transaction), ("dying", reject_to_the_dead_letter_queue)])
def test_a_message_on_its_way_to_a_queue_that_is_not_on_disk_yet_is_in_one_of_them_after_a_kill(broker, old, move):
    broker.start()
    declare(broker.address, "old")
    with Peer(broker.address) as peer:
        peer.open(channels=2)
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": NEW}
        dying = commands.Queue.Declare(queue="dying", durable=True, arguments=arguments)
        peer.call(dying, commands.Queue.DeclareOk)
        publish_confirmed(peer, old)
        with definitions_held_back(broker):
            peer.send(commands.Queue.Declare(queue=NEW, durable=True, nowait=True))
            move(peer)
            deadline = time.monotonic() + WRITTEN_S
            while times_written(broker) < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            broker.kill()
    broker.start()
    assert found(broker, old, NEW) in ([old], [NEW])
    broker.stop()
