NAMES = [
    "below 100B",
    "between 100B and 1KB",
    "between 1KB and 10KB",
    "between 10KB and 100KB",
    "between 100KB and 1MB",
    "between 1MB and 10MB",
    "between 10MB and 50MB",
    "between 50MB and 100MB",
    "above 100MB",
]


def test_messages_are_counted_by_the_size_of_their_bodies(operator, peer):
    for size in (0, 100, 101, 20_000):
        peer.publish("", "nowhere", b"x" * size)
    rows = operator.list("message_size_stats")
    assert [["below 100B", 2, "50.00"], ["between 100B and 1KB", 1, "25.00"]] == rows[:2]
    assert [["between 10KB and 100KB", 1, "25.00"]] == [row for row in rows[2:] if row[1]]


def test_without_messages_there_are_no_shares(operator):
    assert {"0.00"} == {share for _, _, share in operator.list("message_size_stats")}


def test_each_range_has_rabbitmqs_name(operator):
    assert NAMES == [name for name, _, _ in operator.list("message_size_stats")]
