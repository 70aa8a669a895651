"""Making a queue of the type that its limits name."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.core.queue.queue import Queue
from pybroker.core.stream.stream import Stream

if TYPE_CHECKING:
    from pybroker.core.policy.limits import QueueLimits
    from pybroker.core.topology.vhost import VHost

STREAM: Final = "stream"


def make_queue(vhost: "VHost", name: str, *, limits: "QueueLimits", **properties: Any) -> Queue:
    """Return a queue, or a stream, with the properties that `Queue` has; it is none of the virtual host's yet."""
    made = Stream if limits.queue_type == STREAM else Queue
    return made(vhost, name, limits=limits, **properties)
