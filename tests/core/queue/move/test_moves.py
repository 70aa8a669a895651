"""Moves end, also those that go round in a circle."""

from tests.core.moving import bodies, finish, numbered


def test_all_of_it_moves_in_order(bench, target):
    bench.publish(*numbered(5))
    bench.publish(*numbered(3))
    move = finish(bench, bench.broker.moves.to_queue(bench.queue, target))
    assert (8, None) == (move.messages, move.stop)
    assert (0, numbered(5) + numbered(3)) == (bench.queue.messages_ready, bodies(target))


def test_two_moves_in_a_circle_end(bench, target):
    bench.publish(*numbered(5))
    there = bench.broker.moves.to_queue(bench.queue, target)
    finish(bench, there)
    back = bench.broker.moves.to_queue(target, bench.queue)
    again = bench.broker.moves.to_queue(bench.queue, target)
    finish(bench, back)
    finish(bench, again)
    assert (5, 0, 5) == (back.messages, again.messages, bench.queue.messages_ready)
