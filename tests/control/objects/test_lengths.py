"""Sums over queues."""

from pybroker.control.objects import lengths
from pybroker.control.objects.lengths import KEPT_MS, QUEUES_PER_STEP, lengths_of


def test_they_are_sums_over_all_queues(world, peer):
    world.broker.add_vhost("v")
    for name, messages in (("q", 2), ("r", 3)):
        peer.declare(name)
        for _ in range(messages):
            peer.publish("", name, b"x")
    peer.get("q", no_ack=False)
    world.run()
    found = lengths_of(world.broker.vhosts.values(), lambda _: None)
    assert found == {"messages": 5, "messages_ready": 4, "messages_unacknowledged": 1}


def test_others_go_on_between_two_steps(world, peer):
    for number in range(2 * QUEUES_PER_STEP + 1):
        peer.declare(f"q{number}")
    pauses = []
    lengths_of([world.vhost], pauses.append)
    assert pauses == [0, 0, 0]


def test_those_of_many_queues_are_told_for_a_while(world, peer, monkeypatch):
    monkeypatch.setattr(lengths, "MANY", 1)

    def messages():
        return lengths_of([world.vhost], lambda _: None)["messages"]

    for name in "ab":
        peer.declare(name)
    counts = [messages()]
    peer.publish("", "a", b"x")
    counts.append(messages())
    world.advance(KEPT_MS)
    counts.append(messages())
    assert counts == [0, 0, 1]
