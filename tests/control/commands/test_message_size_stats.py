from pybroker.control.commands import message_size_stats
from pybroker.core import message_sizes


def test_messages_are_counted_by_the_size_of_their_bodies(operator, peer):
    for size in (0, 100, 101, 20_000):
        peer.publish("", "nowhere", b"x" * size)
    rows = operator.list("message_size_stats")
    assert [["below 100B", 2, "50.00"], ["between 100B and 1KB", 1, "25.00"]] == rows[:2]
    assert [["between 10KB and 100KB", 1, "25.00"]] == [row for row in rows[2:] if row[1]]


def test_without_messages_there_are_no_shares(operator):
    assert {"0.00"} == {share for _, _, share in operator.list("message_size_stats")}


def test_each_range_has_a_name():
    assert len(message_sizes.BOUNDS) + 1 == len(message_size_stats.NAMES)
