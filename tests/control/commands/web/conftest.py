"""A world with something to count."""

import pytest

from pybroker.core.events.cause import BROKER


@pytest.fixture
def two(world, peer):
    """Return a world with two queues in / and one in another virtual host."""
    world.broker.add_vhost("other", BROKER)
    for name in ("a", "b"):
        peer.declare(name)
    for size in (1, 50, 200, 70_000):
        peer.publish("", "a", b"x" * size)
    world.run()
    return world
