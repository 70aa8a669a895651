"""Alarms: which resources are short, on which nodes. While one is, connections that publish are not read.

An alarm belongs to a node's name: any node's blocks everywhere. The daemon measures;
each protocol decides what a connection does about an alarm. Log lines are RabbitMQ's (rabbit_alarm.erl).
"""

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from pybroker.core.events.observers import Observers
from pybroker.log_event import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.clock import Clock
    from pybroker.core.settings import Settings

MEMORY: Final = "memory"
DISK: Final = "disk"
# Blocks nobody who is connected: there is no room for new connections.
FILES: Final = "file_descriptor_limit"

_SET: Final = {MEMORY: "alarm.memory.set", DISK: "alarm.disk.set", FILES: "alarm.files.set"}
_CLEARED: Final = {MEMORY: "alarm.memory.cleared", DISK: "alarm.disk.cleared", FILES: "alarm.files.cleared"}
TITLES: Final = {MEMORY: "Memory", DISK: "Free disk space", FILES: "File descriptor"}
_BLOCKED: Final = "*** Publishers will be blocked until this alarm clears ***"
_CLOSED: Final = "*** New connections will not be accepted until this alarm clears ***"

# Why, of one that was set by hand and nothing is short.
BY_HAND: Final = "set by an operator"

log = logging.getLogger("pybroker")


class Alarm(NamedTuple):
    """One resource of one node; `why` is a clause with figures, `since_ms` a time of the clock."""

    resource: str
    node: str
    why: str
    since_ms: int

    @property
    def by_hand(self) -> bool:
        """Tell whether an operator set it, and nothing is short."""
        return self.why == BY_HAND

    @property
    def sentence(self) -> str:
        """Return it as operators read it."""
        return f"{TITLES.get(self.resource, self.resource)} alarm on node {self.node}: {self.why}"


class Alarms:
    """In the order in which they were set; True while publishers are blocked.

    `change_observers` are called after each change, `observers` with each as an event.

    An alarm set by hand stays until it is cleared by hand, whatever is measured meanwhile.
    """

    __slots__ = ("_alarms", "_by_hand", "_clock", "_settings", "change_observers", "observers")
    memory: Final = MEMORY
    disk: Final = DISK
    files: Final = FILES

    def __init__(self, settings: "Settings", clock: "Clock") -> None:
        self._settings = settings
        self._clock = clock
        self._alarms: dict[tuple[str, str], Alarm] = {}
        self._by_hand: set[tuple[str, str]] = set()
        self.change_observers: list[Callable[[], None]] = []
        self.observers = Observers()

    def __bool__(self) -> bool:
        return any(resource != FILES for resource, _ in self._alarms)

    def __contains__(self, resource: str) -> bool:
        return any(resource == each for each, _ in self._alarms)

    def __iter__(self) -> "Iterator[Alarm]":
        return iter(list(self._alarms.values()))

    @property
    def is_any_set(self) -> bool:
        """Tell whether an alarm is set, also one that blocks no publisher."""
        return bool(self._alarms)

    @property
    def resources(self) -> tuple[str, ...]:
        """Return what publishers wait for, in the order in which it became short."""
        return tuple(dict.fromkeys(resource for resource, _ in self._alarms if resource != FILES))

    @property
    def reason(self) -> str:
        """Return the reason for clients: `low on memory & disk`; empty while nothing is short."""
        return f"low on {' & '.join(self.resources)}" if self else ""

    def sentences(self, node: str | None = None) -> list[str]:
        """Return a sentence for each alarm, of all nodes or of one."""
        return [alarm.sentence for alarm in self if node in {None, alarm.node}]

    def set_by_hand(self, resource: str) -> None:
        """Set an alarm of our own node that nothing but `clear_by_hand` clears."""
        here = (resource, self._settings.node_name)
        if here not in self._alarms:
            self.set(resource, BY_HAND)
        self._by_hand.add(here)

    def clear_by_hand(self, resource: str) -> None:
        """Clear an alarm of our own node, also one that was set by hand; a measurement may set it again."""
        self._by_hand.discard((resource, self._settings.node_name))
        self.clear(resource)

    def set(self, resource: str, why: str, node: str = "") -> None:
        """Set an alarm, of our own node unless another is named; one that is set only learns the new `why`."""
        node = node or self._settings.node_name
        known = self._alarms.get((resource, node))
        if known is not None:
            self._alarms[resource, node] = known._replace(why=why)
            return
        self._alarms[resource, node] = Alarm(resource, node, why, self._clock.now_ms)
        self.observers.notify("alarm.set", {"source": resource, "node": node})
        what, box = f"{resource} resource limit alarm set on node {node}", _BLOCKED
        if resource == FILES:
            what, box = "file descriptor limit alarm set", _CLOSED
        stars = "*" * len(box)
        extra = event(_SET[resource], more=(stars, box, stars), resource=resource, alarmed_node=node, why=why)
        log.warning("%s.", what, extra=extra)
        self._changed()

    def clear(self, resource: str, node: str = "") -> None:
        """Clear an alarm, if it is set and not by hand."""
        node = node or self._settings.node_name
        if (resource, node) in self._by_hand:
            self._alarms[resource, node] = self._alarms[resource, node]._replace(why=BY_HAND)
            return
        if self._alarms.pop((resource, node), None) is None:
            return
        self.observers.notify("alarm.cleared", {"source": resource, "node": node})
        if resource == FILES:
            extra = event(_CLEARED[resource], resource=resource, alarmed_node=node)
            log.warning("file descriptor limit alarm cleared", extra=extra)
            return
        more = () if resource in self else (f"{resource} resource limit alarm cleared across the cluster",)
        extra = event(_CLEARED[resource], more=more, resource=resource, alarmed_node=node)
        log.warning("%s resource limit alarm cleared on node %s", resource, node, extra=extra)
        self._changed()

    def _changed(self) -> None:
        for observer in self.change_observers:
            observer()
