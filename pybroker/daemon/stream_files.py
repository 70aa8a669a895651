"""StreamFiles: the threads and the folders of streams, from the start of the node to its stop."""

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from pybroker.core.stream.stream import Stream
from pybroker.daemon.threads import ThreadWorker
from pybroker.log_event import event
from pybroker.store.streams.folder import remove_stream, stream_ids
from pybroker.store.streams.recovery import recover
from pybroker.store.streams.stream_log import StreamLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pybroker.core.queue.destination import Companion, Destination
    from pybroker.net.loop_cycle import LoopCycle
    from pybroker.store.disk import Disk
    from pybroker.store.streams.recovery import Recovered

log = logging.getLogger("pybroker")


class StreamFiles:
    """`disk` is the folder of the log. `on_damage` is called with a sentence about each damage."""

    def __init__(self, disk: "Disk", turn: "LoopCycle", on_damage: "Callable[[str], None]") -> None:
        self._disk = disk
        self._writer = ThreadWorker("streams", turn)
        self._reader = ThreadWorker("stream reads", turn)
        self._on_damage = on_damage
        self._lost: set[int] = set()  # had no folder at the start

    def find(self, known: "Iterable[Destination | Companion]") -> dict[int, "Recovered"]:
        """Read the folders of all streams that are known, and remove those of others, which were deleted; blocks.

        Raises DiskError, VersionError.
        """
        there = set(stream_ids(self._disk))
        found = {each.id: recover(self._disk, each.id) for each in known if isinstance(each, Stream)}
        self._lost = set(found).difference(there)
        for stream_id in there.difference(found):
            remove_stream(self._disk, stream_id)
        return found

    def give(self, known: "Iterable[Destination | Companion]", found: dict[int, "Recovered"]) -> None:
        """Give streams their files, before they get what the log still has for them."""
        for each in known:
            if isinstance(each, Stream):
                files = self._made(found[each.id])
                each.use_files(files)
                if each.has_files and each.id in self._lost:
                    self._on_damage(
                        f"{each!r}: its files are missing, with all messages in them: offsets begin at 0 again"
                    )
                for report in files.reports:
                    self._on_damage(f"{each!r}: {report}")
                if files.cut:
                    log.info("%r: %s", each, files.cut, extra=event("store.log.cut"))

    def open(self, stream_id: int, done: "Callable[[StreamLog | BaseException], None]") -> None:
        """Make the files of a new stream."""

        def made(found: Any) -> None:
            done(found if isinstance(found, BaseException) else self._made(found))

        self._writer.submit(partial(recover, self._disk, stream_id), made)

    def _made(self, found: "Recovered") -> StreamLog:
        files = StreamLog(self._disk, self._writer, self._reader, found)
        files.on_damage = self._on_damage
        return files

    def close(self) -> None:
        """Stop when all that was begun is done; what has not moved is in the log."""
        for thread in (self._writer, self._reader):
            thread.stop()
