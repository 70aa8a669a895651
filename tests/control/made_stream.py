"""A stream of a world, made as it is when a client declares it."""

from typing import Any

from pybroker.core.policy.limits import QueueLimits
from pybroker.core.stream.make import make_queue
from pybroker.wire.table import Table
from tests.fakes import World


def make_stream(world: World, name: str = "s", **limits: Any) -> Any:
    """Return a new stream of the virtual host / with these limits."""
    arguments = Table({"x-queue-type": "stream"})
    given = QueueLimits(queue_type="stream", **limits)
    made = make_queue(world.vhost, name, durable=True, auto_delete=False, owner=None, arguments=arguments, limits=given)
    world.vhost.queues[name] = made
    world.vhost.bump()
    return made
