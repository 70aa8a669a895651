"""Definitions documents for tests: RabbitMQ's own export, and imports into a broker without sockets."""

import json
from pathlib import Path
from typing import Any

from pybroker.core.transfer.transfer import Outcome
from tests.fakes import World

# Exported by a real RabbitMQ 3.10.8: users of all hash kinds, policies, limits, every queue argument, all exchanges.
GOLDEN = Path(__file__).parent / "rabbitmq-3.10.8.json"
VERSIONS = ("rabbit_version", "rabbitmq_version", "product_name", "product_version")


def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text())


def normal(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without versions, its items in one order."""
    return {
        name: sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
        for name, items in document.items()
        if name not in VERSIONS
    }


def finish(work: Any) -> Any:
    """Do work to its end; return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


def run(world: World, what: str, content: dict[str, Any], vhost: str | None = None, **options: Any) -> Outcome:
    """Have a document planned or imported."""
    transfer = world.broker.transfer
    document = transfer.document(vhost)
    for name, items in content.items():
        for _ in document.read(name, items):
            pass
    document.finish()
    outcome = finish(getattr(transfer, what)(document, lambda _: None, **options))
    world.run()
    return outcome


def imported(world: World, content: dict[str, Any], vhost: str | None = None, **options: Any) -> Outcome:
    return run(world, "imported", content, vhost, **options)


def planned(world: World, content: dict[str, Any], vhost: str | None = None) -> Outcome:
    return run(world, "planned", content, vhost)
