"""The null engines. Nothing outlives the process, so nothing has to be waited for."""

from typing import TYPE_CHECKING

from pybroker.store.definitions.definitions import Definitions
from pybroker.store.log import Log

if TYPE_CHECKING:
    from pybroker.run import Run
    from pybroker.store.definitions.definitions import Key, Value


class MemoryLog(Log):
    """A log that forgets at once."""

    __slots__ = ()

    def append(self, run: "Run", indexes: range, queue_ids: tuple[int, ...]) -> int:  # noqa: ARG002 - nothing is kept
        """Return commit position 0: there is nothing to wait for."""
        return 0

    def settle(self, queue_id: int, run: "Run", indexes: range) -> None:
        """Forget nothing, since nothing was kept."""


class MemoryDefinitions(Definitions):
    """Definitions that live in the broker's objects alone."""

    __slots__ = ()

    def put(self, kind: str, key: "Key", value: "Value") -> int:  # noqa: ARG002 - nothing is kept
        """Return commit position 0: there is nothing to wait for."""
        return 0

    def remove(self, kind: str, key: "Key") -> int:  # noqa: ARG002 - nothing was kept
        """Return commit position 0, as `put`."""
        return 0

    def clear(self) -> int:
        """Return commit position 0, as `put`."""
        return 0
