"""log_status for people: the state of the log, its live part, and the progress of the disk."""

from collections.abc import Iterator
from typing import Any, Final

from pybrokerctl.views.sections import show

# Of many segments these are shown: an old one that does not go, and what is written now.
OLDEST: Final = 10
NEWEST: Final = 5


def view(document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
    """Yield the text."""
    del args
    state = f"State: {document['state']}" + (f": {document['reason']}" if document["reason"] else "")
    waits = f"Octets not yet on disk: {document['uncommitted_octets']}"
    sections = {
        "Log": [state, f"Node data directory: {document['data_dir']}"],
        "Disk": [
            f"Last batch: {document['last_batch']}, on disk: {document['last_batch_on_disk']}",
            waits,
            _sync(document),
        ],
        "Messages": [
            f"Written: {document['messages_written']}, live: {document['messages_live']} ({_percent(document)})",
        ],
        "Segments": [
            f"Count: {document['segment_count']}, octets: {document['octets']}",
            f"Since the start: {document['unlinked']} removed, {document['compacted']} compacted",
            *_segments(document["segments"]),
        ],
        "Checkpoints": [f"As of batch {batch}" for batch in document["checkpoints"]] or ["(none)"],
    }
    yield from show(sections, drawn=drawn, alarming=["Log"] if document["state"] != "running" else [])


def _sync(document: dict[str, Any]) -> str:
    ago_ms = document["last_sync_ms_ago"]
    return "Nothing written since the start" if ago_ms is None else f"Last sync: {ago_ms / 1000:.1f} s ago"


def _percent(document: dict[str, Any]) -> str:
    return f"{100 * document['live_share']:.1f} %"


def _segments(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the oldest and the newest; JSON has all of them."""
    left_out = len(found) - OLDEST - NEWEST
    yield from map(_segment, found[:OLDEST])
    if left_out > 0:
        yield f"... {left_out} more"
    yield from map(_segment, found[max(OLDEST, len(found) - NEWEST) :])


def _segment(one: dict[str, Any]) -> str:
    sealed = "sealed" if one["sealed"] else "open"
    batches = f"batches {one['first_batch']} to {one['last_batch']}"
    return (
        f"seg.{one['number']:016x}: {sealed}, {one['octets']} octets, {batches}, live: {one['live']} ({_percent(one)})"
    )
