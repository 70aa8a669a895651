"""Orders for queues and consumers of a world without sockets, as an operator would give them."""

from typing import Any

from pybroker.core.events.cause import BROKER
from tests.fakes import FakePeer, World

CONSUME: dict[str, Any] = {"publish": False}
PUBLISH: dict[str, Any] = {"consume": False}
REFUSE: dict[str, Any] = {"consume": False, "mode": "refuse"}


def pause(world: World, name: str = "q", **what) -> None:
    world.broker.pauses.pause_queue(world.vhost.queues[name], "maintenance", BROKER, **what)
    world.run()


def resume(world: World, name: str = "q", **what) -> None:
    world.broker.pauses.resume_queue(world.vhost.queues[name], BROKER, **what)
    world.run()


def ready(world: World, name: str = "q") -> int:
    return world.vhost.queues[name].messages_ready


def causes(peer: FakePeer) -> list[str]:
    return list(map(str, peer.session.throttle.causes))


def declare(peer: FakePeer, *names: str, **options) -> None:
    for name in names:
        peer.declare(name, **options)
