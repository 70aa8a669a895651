from pybroker.control.spec import NoArgs
from pybrokerctl.views import log_status


def segment(number, *, sealed=True):
    facts = {"first_batch": 1, "last_batch": 9, "live": 1, "live_share": 0.25, "octets": 100}
    return {"number": number, "sealed": sealed, **facts}


DOCUMENT = {
    "state": "running",
    "reason": "",
    "data_dir": "/data",
    "last_batch": 9,
    "last_batch_on_disk": 8,
    "uncommitted_octets": 70,
    "last_sync_ms_ago": 1_250,
    "messages_written": 4,
    "messages_live": 1,
    "live_share": 0.25,
    "segments": [segment(1), segment(2, sealed=False)],
    "segment_count": 2,
    "octets": 200,
    "unlinked": 3,
    "compacted": 1,
    "checkpoints": [8, 5],
}


def shown(**facts):
    return "".join(log_status.view({**DOCUMENT, **facts}, NoArgs())).split("\n")


def test_each_thing_an_operator_asks_for_has_its_line():
    lines = shown()
    for line in (
        "State: running",
        "Node data directory: /data",
        "Last batch: 9, on disk: 8",
        "Octets not yet on disk: 70",
        "Last sync: 1.2 s ago",
        "Written: 4, live: 1 (25.0 %)",
        "Count: 2, octets: 200",
        "Since the start: 3 removed, 1 compacted",
        "seg.0000000000000001: sealed, 100 octets, batches 1 to 9, live: 1 (25.0 %)",
        "seg.0000000000000002: open, 100 octets, batches 1 to 9, live: 1 (25.0 %)",
        "As of batch 8",
    ):
        assert line in lines


def test_of_many_segments_the_oldest_and_the_newest_are_shown():
    lines = [line for line in shown(segments=[segment(n) for n in range(1, 40)]) if line.startswith(("seg", "..."))]
    assert len(lines) == log_status.OLDEST + 1 + log_status.NEWEST
    assert lines[log_status.OLDEST] == "... 24 more"
    assert lines[-1].startswith(f"seg.{39:016x}")


def test_a_log_that_failed_says_why_and_one_that_is_empty_that_it_is():
    assert "State: failed: it broke" in shown(state="failed", reason="it broke")
    lines = shown(segments=[], checkpoints=[], last_sync_ms_ago=None)
    assert "(none)" in lines
    assert "Nothing written since the start" in lines
