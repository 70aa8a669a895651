"""RabbitMQ's feature flags whose behaviour is built in, and what it is going to drop that is permitted here."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pybroker.core.broker import Broker

PROVIDED_BY: Final = f"pybroker-{VERSION}"
# Between two pauses in a walk over all queues or sessions: about a millisecond.
NOUNS_PER_SLICE: Final = 1_000
PAUSE_S: Final = 0.000_1


class FeatureFlag(NamedTuple):
    """One flag, in RabbitMQ's words for its columns."""

    name: str
    desc: str
    state: str = "enabled"
    stability: str = "required"
    provided_by: str = PROVIDED_BY
    doc_url: str = ""


class DeprecatedFeature(NamedTuple):
    """One feature, in RabbitMQ's words for its columns."""

    name: str
    desc: str
    deprecation_phase: str = "permitted_by_default"
    state: str = "permitted"
    provided_by: str = PROVIDED_BY
    doc_url: str = ""


FLAGS: Final = (
    FeatureFlag("implicit_default_bindings", "Default bindings are implicit: they are not stored"),
    FeatureFlag("stream_queue", "Support queues of type `stream`"),
    FeatureFlag("user_limits", "Limits of connections and channels for each user"),
    FeatureFlag("virtual_host_metadata", "Virtual hosts have a description and tags"),
)

GLOBAL_QOS: Final = DeprecatedFeature("global_qos", "basic.qos with the global flag: one prefetch limit for a channel")
TRANSIENT_QUEUES: Final = DeprecatedFeature("transient_nonexcl_queues", "Queues that are neither durable nor exclusive")
DEPRECATED: Final = (GLOBAL_QOS, TRANSIENT_QUEUES)


def used(broker: "Broker", pause: "Callable[[float], object]") -> list[DeprecatedFeature]:
    """Return the deprecated features that a queue or a channel uses now; others go on between some of those."""
    # A door's own: control and amqp are strangers to each other.
    sessions: list[Any] = list(broker.sessions.values())
    limits = (channel.prefetch_global for session in sessions for channel in list(session.channels.values()))
    queues = (queue for vhost in list(broker.vhosts.values()) for queue in list(vhost.queues.values()))
    found = [GLOBAL_QOS] if _any(limits, pause) else []
    if _any((not queue.durable and not queue.exclusive for queue in queues), pause):
        found.append(TRANSIENT_QUEUES)
    return found


def _any(values: "Iterable[Any]", pause: "Callable[[float], object]") -> bool:
    for count, value in enumerate(values, 1):
        if value:
            return True
        if not count % NOUNS_PER_SLICE:
            pause(PAUSE_S)
    return False
