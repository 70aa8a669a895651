from pybroker.control.spec import NoArgs
from pybrokerctl.views import stream_status

READER = {
    "consumer_tag": "c",
    "connection": "127.0.0.1:1 -> 127.0.0.1:2",
    "connection_pid": "<pid>",
    "user_provided_name": "billing\x1b",
    "channel": 1,
    "user": "guest",
    "next_offset": 40,
    "lag": 1_960,
    "prefetch_count": 10,
    "unacknowledged": 10,
    "credits": None,
    "skipped": 0,
}
DOCUMENT = {
    "name": "s",
    "vhost": "/",
    "state": "running",
    "paused": None,
    "policy": "",
    "operator_policy": "short",
    "messages": 2_000,
    "first_offset": 0,
    "last_chunk_offset": 1_990,
    "next_offset": 2_000,
    "oldest": "2026-11-22T21:57:32.000+00:00",
    "newest": None,
    "segments": 3,
    "octets": 1_500_000,
    "octets_pending": 17,
    "memory": 100,
    "max_length_bytes": None,
    "max_age_ms": 3_600_000,
    "max_segment_size_bytes": 500_000_000,
    "readers": [READER],
}


def shown(**facts):
    return "".join(stream_status.view({**DOCUMENT, **facts}, NoArgs())).split("\n")


def test_each_thing_an_operator_asks_for_has_its_line():
    lines = shown()
    for line in (
        "Policy: (none)",
        "Operator policy: short",
        "Count: 2,000",
        "First offset: 0, next: 2000",
        "Last chunk begins at: 1990",
        "Oldest: 2026-11-22T21:57:32.000+00:00, newest: (none)",
        "Segments: 3, octets: 1,500,000",
        "In the log, not moved to a segment yet: 17 octets",
        "Octets: unlimited",
        "Age: 1h",
        "Octets of a segment: 500,000,000",
    ):
        assert line in lines
    (reader,) = [line for line in lines if line.startswith("c: ")]
    assert reader == (
        r"c: 1,960 behind, next offset 40, 10 of 10 to acknowledge; on channel 1 of <pid> 127.0.0.1:1 -> 127.0.0.1:2 "
        r"(billing\033)"
    )


def test_a_client_of_the_stream_protocol_has_credit():
    lines = shown(readers=[{**READER, "consumer_tag": "7", "credits": 9}])
    (line,) = [line for line in lines if line.startswith("subscription")]
    assert line.startswith("subscription 7: 1,960 behind, next offset 40, credit for 9 chunks; on <pid> ")


def test_a_pause_is_shown_with_its_reason():
    order = {"what": "publish", "user": "root", "since": "2026-11-22T21:57:32.000+00:00", "why": "move"}
    assert "Paused: publish since 2026-11-22T21:57:32.000+00:00, by root: move" in shown(paused=order)
    assert not [line for line in shown() if line.startswith("Paused")]


def test_many_consumers_are_cut_and_none_is_said():
    assert "(none)" in shown(readers=[])
    lines = shown(readers=[{**READER, "lag": lag} for lag in range(30)])
    assert "... 10 more" in lines
    assert "Age: unlimited" in shown(max_age_ms=None)
    assert "3 skipped" in "\n".join(shown(readers=[{**READER, "skipped": 3}]))
    assert "looks for its place" in "\n".join(shown(readers=[{**READER, "next_offset": None}]))
