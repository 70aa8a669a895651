"""StreamFiles: the threads and the folders of streams, from the start of the node to its stop."""

import errno
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.stream.stream import Stream
from pybroker.daemon.threads import ThreadWorker
from pybroker.log_event import event
from pybroker.store.disk import DiskError
from pybroker.store.streams.folder import remove_stream, set_folder_aside, stream_ids
from pybroker.store.streams.format import INDEX_SUFFIX
from pybroker.store.streams.recovery import recover
from pybroker.store.streams.removals import Removals
from pybroker.store.streams.stream_log import StreamLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pybroker.core.queue.destination import Companion, Destination
    from pybroker.net.loop_cycle import LoopCycle
    from pybroker.store.disk import Disk
    from pybroker.store.streams.recovery import Recovered
    from pybroker.store.streams.straight import CommittedSeqs

# Errors of a folder that is not what it should be; whatever else is the matter may go by, and the files are good.
_UNUSABLE: Final = frozenset((errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.EIO))

log = logging.getLogger("pybroker")


class StreamFiles:
    """`disk` is the folder of the log. `on_damage` is called with a sentence about each damage."""

    def __init__(self, disk: "Disk", turn: "LoopCycle", on_damage: "Callable[[str], None]") -> None:
        self._disk = disk
        self._writer = ThreadWorker("streams", turn)
        self._reader = ThreadWorker("stream reads", turn)
        self._on_damage = on_damage
        self._stopping = False
        self._removals = Removals(self._writer)
        self._deleted: set[int] = set()  # have a folder still
        self._faults: list[str] = []

    def fail_with(self, on_error: "Callable[[Exception], None]", on_read_error: "Callable[[Exception], None]") -> None:
        """Have exceptions told in what follows jobs: a batch of the log may wait for the writer, others for reads."""
        self._writer.on_error = on_error
        self._reader.on_error = on_read_error

    def find(self, known: "Iterable[Destination | Companion]", committed: "CommittedSeqs") -> dict[int, "Recovered"]:
        """Read the folders of all streams that are known; blocks. Raises DiskError, VersionError."""
        there = set(stream_ids(self._disk))
        streams = {each.id for each in known if isinstance(each, Stream)}
        self._deleted = there.difference(streams)
        return {each: self._recovered(each, committed.of(each)) for each in sorted(streams & there)}

    def _recovered(self, stream_id: int, committed: int | None = None) -> "Recovered":
        """Read a stream's folder, or make it; one that cannot be used as it is moves aside, and the stream begins anew.

        It runs in any thread.
        """
        try:
            return recover(self._disk, stream_id, committed)
        except DiskError as error:
            if error.errno not in _UNUSABLE or error.name.endswith(INDEX_SUFFIX):
                raise
            aside = set_folder_aside(self._disk, stream_id)
            text = f"the files of stream {stream_id} cannot be used, it begins anew: {error}; kept as {aside}"
            self._faults.append(text)
            return recover(self._disk, stream_id)

    def give(self, known: "Iterable[Destination | Companion]", found: dict[int, "Recovered"]) -> None:
        """Give streams their files, before they get what the log still has for them; remove those of deleted ones.

        Folders that are not there are made beside everything else: a start need not wait for them.
        """
        self._tell_faults()
        for stream_id in self._deleted:
            self._removals.submit(partial(remove_stream, self._disk, stream_id), partial(self._removed, stream_id))
        for each in known:
            if isinstance(each, Stream) and each.id not in found:
                if each.has_files:
                    self._on_damage(
                        f"{each!r}: its files are missing, with all messages in them: offsets begin at 0 again"
                    )
                each.streams.open(each)
            elif isinstance(each, Stream):
                files = self._made(found[each.id])
                each.use_files(files)
                for report in files.reports:
                    self._on_damage(f"{each!r}: {report}")
                if files.cut:
                    log.info("%r: %s", each, files.cut, extra=event("store.log.cut"))

    def open(self, stream_id: int, done: "Callable[[StreamLog | BaseException], None]") -> None:
        """Make the files of a new stream."""

        def made(found: Any) -> None:
            self._tell_faults()
            done(found if isinstance(found, BaseException) else self._made(found))

        self._writer.submit(partial(self._make, stream_id), made)

    def _make(self, stream_id: int) -> "Recovered | None":
        """Make a folder, in the writer's thread; a node that stops leaves that to its next start."""
        return None if self._stopping else self._recovered(stream_id)

    def _tell_faults(self) -> None:
        while self._faults:
            self._on_damage(self._faults.pop(0))

    def _removed(self, stream_id: int, error: BaseException | None) -> None:
        if error is not None:
            text = f"cannot remove the files of the deleted stream {stream_id}; the next start does: {error}"
            log.warning("%s", text, extra=event("stream.remove_failed"))

    def _made(self, found: "Recovered") -> StreamLog:
        files = StreamLog(self._disk, self._writer, self._reader, found, self._removals)
        files.on_damage = self._on_damage
        return files

    def close(self) -> None:
        """Stop when what was begun is done; what has not moved is in the log, folders go after the next start."""
        self._stopping = True
        self._removals.stop()
        for thread in (self._writer, self._reader):
            thread.stop(at_once=True)
