"""Limits of one queue as plain attributes, so that the hot path never sees an argument or a policy.

Made by `arguments.queue_limits`; frozen, replaced as a whole when something changes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pybroker.entries_run import BLOOM_OCTETS

if TYPE_CHECKING:
    from pybroker.core.policy.retry import Retry

DROP_HEAD: Final = 0
REJECT_PUBLISH: Final = 1
REJECT_PUBLISH_DLX: Final = 2

OVERFLOWS: Final = {"drop-head": DROP_HEAD, "reject-publish": REJECT_PUBLISH, "reject-publish-dlx": REJECT_PUBLISH_DLX}


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """None is unlimited. `overflow` is one of the three constants above; `priority_max` 0 means no priorities.

    `consumer_timeout_ms` None is the node's, 0 is none at all. `at_least_once`: a dead letter leaves the queue when
    its targets have it, not before. `retry` None: what comes back is ready at once.
    `age_max_ms`, `segment_octets_max` and `filter_octets`, those of a bloom, are those of a stream; its `octets_max`
    counts its files.
    """

    message_ttl_ms: int | None = None
    expires_ms: int | None = None
    length_max: int | None = None
    octets_max: int | None = None
    overflow: int = DROP_HEAD
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None
    priority_max: int = 0
    single_active_consumer: bool = False
    delivery_limit: int | None = None
    queue_type: str = "classic"
    consumer_timeout_ms: int | None = None
    at_least_once: bool = False
    retry: "Retry | None" = None
    age_max_ms: int | None = None
    segment_octets_max: int | None = None
    filter_octets: int = BLOOM_OCTETS
