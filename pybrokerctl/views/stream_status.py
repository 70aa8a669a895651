"""stream_status for people: a stream's offsets, its files and limits, and its consumers, the slowest first."""

from collections.abc import Iterator
from typing import Any, Final

from pybroker.text.duration import shortest
from pybrokerctl.render.cell import cell
from pybrokerctl.views.sections import show

# Of many consumers these are shown; JSON has all of them.
READERS_MAX: Final = 20


def view(document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
    """Yield the text."""
    del args
    sections = {
        "Stream": [
            f"State: {document['state']}",
            *_paused(document["paused"]),
            f"Policy: {cell(document['policy']) or '(none)'}",
            f"Operator policy: {cell(document['operator_policy']) or '(none)'}",
        ],
        "Messages": [
            f"Count: {document['messages']:,}",
            f"First offset: {document['first_offset']}, next: {document['next_offset']}",
            f"Last chunk begins at: {document['last_chunk_offset']}",
            f"Oldest: {document['oldest'] or '(none)'}, newest: {document['newest'] or '(none)'}",
        ],
        "Disk": [
            f"Segments: {document['segments']:,}, octets: {document['octets']:,}",
            f"In the log, not moved to a segment yet: {document['octets_pending']:,} octets",
        ],
        "Limits": [
            f"Octets: {_limit(document['max_length_bytes'])}",
            f"Age: {'unlimited' if document['max_age_ms'] is None else shortest(document['max_age_ms'])}",
            f"Octets of a segment: {document['max_segment_size_bytes']:,}",
        ],
        "Consumers, the slowest first": [*_readers(document["readers"])] or ["(none)"],
    }
    yield from show(sections, drawn=drawn)


def _limit(octets: int | None) -> str:
    return "unlimited" if octets is None else f"{octets:,}"


def _paused(order: dict[str, Any] | None) -> Iterator[str]:
    if order is not None:
        yield f"Paused: {order['what']} since {order['since']}, by {cell(order['user'])}: {cell(order['why'])}"


def _readers(found: list[dict[str, Any]]) -> Iterator[str]:
    for one in found[:READERS_MAX]:
        called = f" ({cell(one['user_provided_name'])})" if one["user_provided_name"] else ""
        where = f"{one['connection_pid']} {cell(one['connection'])}{called}"
        at = "looks for its place" if one["next_offset"] is None else f"next offset {one['next_offset']}"
        name, owed = cell(one["consumer_tag"]), f"{one['unacknowledged']:,} of {one['prefetch_count']:,} to acknowledge"
        if one["credits"] is not None:
            name, owed = f"subscription {name}", f"credit for {one['credits']:,} chunk{'s' * (one['credits'] != 1)}"
        else:
            where = f"channel {one['channel']} of {where}"
        skipped = f", {one['skipped']:,} skipped" if one["skipped"] else ""
        yield f"{name}: {one['lag']:,} behind, {at}, {owed}{skipped}; on {where}"
    if len(found) > READERS_MAX:
        yield f"... {len(found) - READERS_MAX:,} more"
