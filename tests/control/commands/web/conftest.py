"""A world with something to count."""

import pytest

from pybroker.control import codec
from pybroker.control.access import ActingUser
from pybroker.control.execute import Executor
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


@pytest.fixture
def ann(world):
    """A user who may do everything with names that begin with a, in the virtual host /."""
    world.broker.users.add("ann", "ann", ("management",))
    world.broker.users.set_permissions("ann", "/", "^a", "^a", "^a", cause=BROKER)
    return "ann"


@pytest.fixture
def run(world, operator):
    """Run a command to its end as a user, guest by default; return the value that it answers with."""
    executor = Executor(world.broker, operator.daemon, lambda _: world.run())

    def run(name, /, user="guest", lines=(), **given):
        acting = ActingUser(user, world.broker.users.get(user).tags)
        answer = executor.run(name, codec.decode(codec.encode(given)), acting, lines)
        while True:
            try:
                next(answer)
            except StopIteration as end:
                world.run()
                return end.value.value

    return run
