"""Figures of a log for `log status`: segments, their live part, progress of the disk. It changes nothing."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pybroker.store.journal.journal import Journal
    from pybroker.store.segments.live_index import Segment


def figures(journal: "Journal") -> dict[str, Any]:
    """Return them as a document. Messages count once for each queue that they are in."""
    segments = [_of(segment) for segment in journal.live_index.segments]
    published = sum(segment["published"] for segment in segments)
    live = sum(segment["live"] for segment in segments)
    written_ms = journal._quiet_ms
    return {
        "state": "failed"
        if journal.failed
        else "full"
        if journal.full
        else "stalled"
        if journal.stalled
        else "running",
        "reason": journal.failed or journal.full or journal.stalled,
        "segments": segments,
        "segment_count": len(segments),
        "octets": sum(segment["octets"] for segment in segments),
        "messages_written": published,
        "messages_live": live,
        "live_share": _share(live, published),
        "last_batch": journal.last_commit_position,
        "last_batch_on_disk": journal.completed,
        "uncommitted_octets": journal.uncommitted_octets,
        "last_sync_ms_ago": journal.clock.now_ms - written_ms if written_ms else None,
        **journal.maintenance.status(),
    }


def _of(segment: "Segment") -> dict[str, Any]:
    return {
        "number": segment.number,
        "octets": segment.used,
        "sealed": segment.sealed,
        "published": segment.published,
        "live": segment.live,
        "live_share": _share(segment.live, segment.published),
        "first_batch": segment.first_commit_position,
        "last_batch": segment.last_commit_position,
        "newest_ms": segment.newest_ms,
    }


def _share(live: int, published: int) -> float:
    """Return the part of what was published that lives still."""
    return round(live / published, 4) if published else 0.0
