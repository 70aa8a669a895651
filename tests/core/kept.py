"""Definitions that are kept as JSON in a dict, and the broker that comes back with them."""

import json
from typing import Any

from pybroker.core.broker import Broker
from pybroker.core.events.cause import BROKER
from pybroker.core.metadata.load import restore
from pybroker.core.queue.queue import Queue
from pybroker.core.settings import Settings
from pybroker.core.topology.queue_declare import QueueProperties, create_queue
from pybroker.session import Turn
from pybroker.store.definitions.definitions import KINDS, Definitions
from pybroker.wire.table import Table
from tests.clock import FakeClock


class KeptDefinitions(Definitions):
    """`texts` is what a disk would have."""

    __slots__ = ("next_queue_id", "texts")

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[tuple[str, tuple[str, ...]], str] = {}
        self.next_queue_id = 1

    def put(self, kind: str, key: tuple[str, ...], value: dict[str, Any]) -> int:
        assert len(KINDS[kind].columns) == len(key)
        self.texts[kind, key] = json.dumps(value, allow_nan=False)
        if kind == "queue":
            self.next_queue_id = max(self.next_queue_id, value["id"] + 1)
        return self._count()

    def remove(self, kind: str, key: tuple[str, ...]) -> int:
        self.texts.pop((kind, key), None)
        return self._count()

    def clear(self) -> int:
        self.texts.clear()
        return self._count()

    def _count(self) -> int:
        self.commit_position += 1
        self.completed = self.commit_position
        return self.commit_position

    def keys(self, kind: str) -> list[tuple[str, ...]]:
        """Return the keys of one kind, sorted."""
        return sorted(key for each, key in self.texts if each == kind)

    def value(self, kind: str, *key: str) -> Any:
        return json.loads(self.texts[kind, key])

    def rows(self) -> dict[str, dict[tuple[str, ...], Any]]:
        rows: dict[str, dict[tuple[str, ...], Any]] = {kind: {} for kind in KINDS}
        for (kind, key), text in sorted(self.texts.items()):
            rows[kind][key] = json.loads(text)
        return rows


def new_broker(**settings: Any) -> Broker:
    """Return a broker whose definitions are kept."""
    return Broker(Settings(**settings), FakeClock(), Turn(), KeptDefinitions())


def again(broker: Broker, **settings: Any) -> Broker:
    """Return the broker that a restart would make of what was kept; its `notices` are what could not be made."""
    kept = broker.definitions
    assert isinstance(kept, KeptDefinitions)
    definitions = KeptDefinitions()
    definitions.texts, definitions.next_queue_id, definitions.is_new = dict(kept.texts), kept.next_queue_id, False
    restarted = Broker(Settings(**settings), FakeClock(), Turn(), definitions)
    restarted.notices += restore(restarted, definitions.rows(), definitions.next_queue_id)
    assert (0, kept.texts) == (definitions.commit_position, definitions.texts)
    return restarted


def queue(vhost, name, arguments=None, *, durable=True, **given) -> Queue:
    options = {"exclusive": False, "auto_delete": False, "arguments": arguments or Table(), **given}
    session = options.pop("session", None)
    create_queue(vhost, None, session, name, QueueProperties(durable=durable, **options), BROKER)
    return vhost.queues[name]
