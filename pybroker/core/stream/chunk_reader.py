"""ChunkReader: the reader of a consumer that takes chunks as they are stored, all of each, in the order of offsets.

A chunk in which its offset is comes whole: such a consumer passes over what it does not want.
"""

from typing import TYPE_CHECKING, Final

from pybroker.core.stream.reader import RUN_COST, Reader
from pybroker.entries_run import EntriesRun

if TYPE_CHECKING:
    from pybroker.run import Run

# So many octets cost as much as a message that is delivered by itself: a turn gives one reader about 1 MiB.
COST_OCTETS: Final = 256


class ChunkReader(Reader):
    """`credit` counts chunks, and so does the consumer's."""

    __slots__ = ()

    def serve(self, credit: int, cost_max: int, now_ms: int) -> int:  # noqa: ARG002 - a chunk, whatever it costs
        """Deliver the next chunk; return what that cost; 0: none is there."""
        run, _ = self._run_at()
        if run is None:
            return 0
        self._pass(run)
        if not isinstance(run, EntriesRun):
            self.skipped += run.count
            return RUN_COST
        self.stream.count_delivered(run.count)
        self.consumer.deliver_chunk(run, now_ms)
        return max(RUN_COST, run.octets // COST_OCTETS)

    def _taken(self, found: "list[Run]") -> "list[Run]":
        """Return chunks as they were read: the time in them is that of the wall."""
        return found
