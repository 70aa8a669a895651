"""Definitions: the core's interface to the place where definitions outlive the process.

Rows by kind and key. `store/memory.py` is the null engine, `store/definitions/definition_store.py` the one on disk: the
changes of one loop turn are one transaction, and `completed` grows when it is on disk. Does not know what a row means.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Key: TypeAlias = tuple[str, ...]
# Plain JSON values. They are not changed after they are handed over.
Value: TypeAlias = dict[str, Any]
# By kind.
Rows: TypeAlias = dict[str, dict[Key, Value]]


class Kind(NamedTuple):
    """One kind of rows: the names of its key's parts, and its section in RabbitMQ's definitions files."""

    columns: tuple[str, ...]
    section: str


KINDS: Final = {
    "vhost": Kind(("name",), "vhosts"),
    "user": Kind(("name",), "users"),
    "permission": Kind(("user", "vhost"), "permissions"),
    "topic_permission": Kind(("user", "vhost", "exchange"), "topic_permissions"),
    "global_parameter": Kind(("name",), "global_parameters"),
    "parameter": Kind(("vhost", "component", "name"), "parameters"),
    "exchange": Kind(("vhost", "name"), "exchanges"),
    "queue": Kind(("vhost", "name"), "queues"),
    # The last part tells apart what differs in its arguments alone.
    "binding": Kind(
        ("vhost", "source", "destination_type", "destination", "routing_key", "properties_key"), "bindings"
    ),
}


class Definitions:
    """Invariants: each change has a commit position, positions only grow; changes up to `completed` survive a crash.

    `wake` is called when there is something to commit at the end of this turn. `failed` says why nothing more can be
    written, empty: all is well. `is_new`: nothing was ever kept here, so that the defaults are to be made.
    """

    __slots__ = ("commit_position", "completed", "failed", "is_new", "wake")

    def __init__(self) -> None:
        self.commit_position = 0  # of the last change
        self.completed = 0
        self.failed = ""
        self.is_new = True
        self.wake: Callable[[], None] = self.commit

    def put(self, kind: str, key: Key, value: Value) -> int:
        """Keep a row instead of the one that had this key; return the commit position to wait for, 0: nothing to.

        The `id` of a queue is remembered for ever, so that no other queue gets it.
        """
        raise NotImplementedError

    def remove(self, kind: str, key: Key) -> int:
        """Forget a row, if there is one; return the commit position to wait for, 0: nothing to."""
        raise NotImplementedError

    def remove_all(self, rows: "Iterable[tuple[str, Key]]") -> int:
        """Forget rows, of kind and key, that were put, in one transaction; return the commit position to wait for."""
        commit_position = 0
        for kind, key in rows:
            commit_position = self.remove(kind, key)
        return commit_position

    def clear(self) -> int:
        """Forget all rows; return the commit position to wait for, 0: nothing to."""
        raise NotImplementedError

    def commit(self) -> None:
        """Have what was gathered written, now that the turn is over."""

    def tick(self) -> None:
        """Do what is due about once a second."""
