"""Ranges of offsets: how much of a backlog a trigger takes, and how that is cut into tasks. Pure functions."""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple


class Range(NamedTuple):
    """Messages `start .. stop - 1` of a stream, which has this number among the partitions of its super stream."""

    stream: str
    id: int
    number: int
    start: int
    stop: int


def share(behind: Mapping[str, int], most: int, turn: int = 0) -> dict[str, int]:
    """Return how many messages to take of each stream, at most `most` in all, in proportion to what each has.

    Each that has some gets one at least, so none waits for ever beside a larger one; if these are more than that, they
    get it by turns.
    """
    total = sum(behind.values())
    if total <= most:
        return dict(behind)
    waiting = [stream for stream, count in behind.items() if count]
    taken = dict.fromkeys(behind, 0)
    if len(waiting) >= most:
        first = turn * most % len(waiting)
        return taken | dict.fromkeys((waiting + waiting)[first : first + most], 1)
    taken |= {stream: max(1, behind[stream] * most // total) for stream in waiting}
    over = sum(taken.values()) - most
    for stream in sorted(waiting, key=taken.__getitem__, reverse=True):
        less = max(0, min(over, taken[stream] - 1))
        taken[stream] -= less
        over -= less
    return taken


def split(ranges: list[Range], least: int) -> list[Range]:
    """Return about so many ranges at least, the largest cut most, in the order they came; empty ones are left out."""
    ranges = [each for each in ranges if each.stop > each.start]
    total = sum(each.stop - each.start for each in ranges)
    if not total or len(ranges) >= least:
        return ranges
    found = []
    for each in ranges:
        count = each.stop - each.start
        parts = min(count, max(1, round(least * count / total)))
        cuts = [each.start + count * number // parts for number in range(parts + 1)]
        found += [each._replace(start=start, stop=stop) for start, stop in pairwise(cuts)]
    return found
