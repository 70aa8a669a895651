"""One queue as a test looks at it: counts of now, and waiting for them."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from pybroker.testing.published import NAME, body_of, peek
from pybroker.testing.waiting import wait_for

if TYPE_CHECKING:
    from pybroker.testing.vhost import VirtualHost

# Columns of list_queues by the names of the counts.
COUNTS: Final = {
    "messages": "messages",
    "ready": "messages_ready",
    "unacknowledged": "messages_unacknowledged",
    "consumers": "consumers",
}


def counts_of(vhost: "VirtualHost") -> dict[str, dict[str, int]]:
    """Return the counts of all queues of a virtual host, by the queues' names."""
    rows = vhost.broker.request("list_queues", vhost=vhost.name, columns=["name", *COUNTS.values()])
    return {
        row["name"]: {count: row[column] for count, column in COUNTS.items()} for row in rows if row["name"] != NAME
    }


def shown(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return a line for each queue."""
    return "\n".join(f"  {name}: {_told(each)}" for name, each in counts.items()) or "  none"


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in counts.items())


class QueueView:
    """A queue by its name, whether it is there or not. Counts are those of now; `wait_for` waits for them."""

    def __init__(self, vhost: "VirtualHost", name: str) -> None:
        self.vhost = vhost
        self.name = name

    def __repr__(self) -> str:
        counts = counts_of(self.vhost).get(self.name)
        return f"<queue {self.name!r}: {'not there' if counts is None else _told(counts)}>"

    @property
    def exists(self) -> bool:
        """Tell whether it is there."""
        return self.name in counts_of(self.vhost)

    @property
    def messages(self) -> int:
        """Return how many messages it has, ready and unacknowledged."""
        return self._count("messages")

    @property
    def ready(self) -> int:
        """Return how many messages wait for a consumer."""
        return self._count("ready")

    @property
    def unacknowledged(self) -> int:
        """Return how many messages consumers have and did not settle."""
        return self._count("unacknowledged")

    @property
    def consumers(self) -> int:
        """Return how many consumers it has."""
        return self._count("consumers")

    def _count(self, name: str) -> int:
        __tracebackhide__ = True
        queues = counts_of(self.vhost)
        if self.name not in queues:
            raise AssertionError(self._missing(queues))
        return queues[self.name][name]

    def wait_for(self, *, timeout_s: float | None = None, **counts: int) -> None:
        """Wait until it has these counts, of `messages`, `ready`, `unacknowledged` and `consumers`.

        Raises AssertionError, with what there is instead, after `timeout_s`, by default the broker's.
        """
        __tracebackhide__ = True
        unknown = sorted(counts.keys() - COUNTS.keys())
        if unknown or not counts:
            raise TypeError(f"wait_for takes {', '.join(COUNTS)}, not {', '.join(unknown) or 'nothing'}")
        limit_s = self.vhost.broker.timeout_s if timeout_s is None else timeout_s
        queues = wait_for(
            lambda: counts_of(self.vhost),
            lambda found: counts.items() <= found.get(self.name, {}).items(),
            limit_s,
        )
        found = queues.get(self.name)
        if found is None:
            raise AssertionError(f"{self._missing(queues)}\nIt was waited for {limit_s:g} s.")
        if not counts.items() <= found.items():
            raise AssertionError(
                f"queue {self.name!r} did not come to {_told(counts)} within {limit_s:g} s.\n"
                f"It has {_told(found)}.\n{self.vhost.report()}"
            )

    def bodies(self, most: int = 100) -> list[bytes]:
        """Return the bodies of its ready messages, the next one first; they stay where they are."""
        found = peek(self.vhost.broker, self.vhost.name, self.name, number=most)
        return [body_of(message) for message in found]

    def purge(self) -> None:
        """Remove its ready messages."""
        self.vhost.broker.request("purge_queue", queue=self.name, vhost=self.vhost.name)

    def _missing(self, queues: Mapping[str, Any]) -> str:
        near = get_close_matches(self.name, queues, 1)
        hint = f" Is it {near[0]!r}?" if near else ""
        return f"there is no queue {self.name!r} in this virtual host.{hint} Its queues:\n{shown(queues)}"
