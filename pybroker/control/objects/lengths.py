"""Lengths: how many messages the queues of virtual hosts have, added up in small steps."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from pybroker.core.stats.metrics import QUEUE
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from pybroker.core.topology.vhost import VHost

LENGTHS: Final = ("messages", "messages_ready", "messages_unacknowledged")
# Looked at between two pauses: some ten microseconds.
QUEUES_PER_STEP: Final = 50
# With more queues than this, what was added up is told for so long: RabbitMQ's figures are as old.
MANY: Final = 2_000
KEPT_MS: Final = 5_000


class _Sums(NamedTuple):
    """Sums by the names of LENGTHS, and since when they are told."""

    lengths: list[int]
    since_ms: int


_kept: "Final[WeakKeyDictionary[VHost, _Sums]]" = WeakKeyDictionary()


def lengths_of(vhosts: "Iterable[VHost]", pause: Callable[[float], object]) -> dict[str, int]:
    """Return the numbers of messages by the names of LENGTHS. Others go on meanwhile."""
    sums = [0] * len(LENGTHS)
    for vhost in vhosts:
        sums = [known + more for known, more in zip(sums, _of_vhost(vhost, pause), strict=True)]
    return dict(zip(LENGTHS, sums, strict=True))


def _of_vhost(vhost: "VHost", pause: Callable[[float], object]) -> list[int]:
    now_ms, kept = vhost.broker.clock.now_ms, _kept.get(vhost)
    if kept is not None and now_ms - kept.since_ms < KEPT_MS:
        return kept.lengths
    reads: list[Callable[[Any], int]] = [QUEUE[name].read for name in LENGTHS]
    sums = [0] * len(reads)
    queues = as_they_were(vhost.queues.values())
    while some := list(islice(queues, QUEUES_PER_STEP)):
        sums = [known + sum(map(read, some)) for known, read in zip(sums, reads, strict=True)]
        pause(0)
    if len(vhost.queues) > MANY:
        _kept[vhost] = _Sums(sums, now_ms)
    return sums
