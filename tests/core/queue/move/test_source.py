"""A source gives what it has still, whoever else takes from it."""

from tests.core.moving import finish, numbered


def test_nobody_takes_from_a_source_what_another_has_taken(bench, target):
    bench.publish(*numbered(6))
    move = bench.broker.moves.to_queue(bench.queue, target, messages_max=4, rate=1_000)
    reader = bench.reader(prefetch=3)
    finish(bench, move)
    assert 6 == len(reader.seqs) + target.messages_ready + bench.queue.messages_ready
    assert 3 == len(reader.seqs)
