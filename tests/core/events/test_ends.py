"""Observers of ends get the nouns, with the counts that they had."""

from tests.fakes import World


def test_a_deleted_queue_and_a_session_that_ended_are_told_of_once():
    world, told = World(), []
    world.broker.ends.queues.append(lambda queue, messages: told.append((queue.name, queue.published, messages)))
    world.broker.ends.sessions.append(lambda session: told.append((session.id, session.published)))
    peer = world.connect()
    peer.declare("q", exclusive=True)
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2")
    peer.get("q")
    number = peer.session.id
    peer.disconnect()
    peer.session.peer_gone("again")
    world.run()
    assert told == [("q", 2, 1), (number, 2)]
    assert world.broker.totals.given == 1
