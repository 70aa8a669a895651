"""The definitions in the data folder: opened and restored before anything is served, closed at the very end.

`store/` knows the files and the meaning of damage, `core/` the rows; this module has the thread, the log lines, and the
end of the process when definitions cannot be written any more.
"""

import gc
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from gevent.event import Event

from pybroker.core.metadata.load import restore
from pybroker.daemon.start_error import StartError
from pybroker.daemon.threads import CLOSE_S_MAX, ThreadWorker
from pybroker.log_event import event
from pybroker.store.definitions.definition_recovery import NewerSchemaError, Opened, open_definitions
from pybroker.store.definitions.definition_store import DefinitionStore
from pybroker.store.definitions.row_file import RowFileError
from pybroker.store.disk import Disk, DiskError

if TYPE_CHECKING:
    from pathlib import Path

    from pybroker.clock import Clock
    from pybroker.core.broker import Broker
    from pybroker.net.loop_cycle import LoopCycle

T = TypeVar("T")

log = logging.getLogger("pybroker")


class DefinitionsStorage:
    """Used by the daemon: made, `restore`d, `close`d. `failed` is called when nothing can be written any more."""

    def __init__(self, folder: "Path", clock: "Clock", turn: "LoopCycle", failed: Callable[[], None]) -> None:
        """Open the files.

        Raises:
            StartError: the system does not let us, or a later version wrote them. Never because of damage.

        """
        self._failed = failed
        self._broker: Broker | None = None
        self._trouble = ""
        disk = Disk(folder)
        try:
            self._opened: Opened | None = _without_collections(lambda: open_definitions(disk))
        except NewerSchemaError as error:
            raise StartError(str(error), os.EX_CONFIG) from None
        except (DiskError, RowFileError) as error:
            raise StartError(f"cannot open the definitions: {error}", os.EX_IOERR) from None
        self._thread: ThreadWorker | None = ThreadWorker("definitions", turn)
        self.store = DefinitionStore(self._opened, disk, self._thread, clock)
        self._thread.on_error = self.store.fail

    def restore(self, broker: "Broker") -> None:
        """Give a broker that was made with `store` what was kept, and tell the operator what was amiss."""
        opened, self._opened = self._opened, None
        assert opened is not None
        self._broker = broker
        self.store.on_completed = broker.definitions_completed
        self.store.on_trouble = self._on_trouble
        self.store.on_failed = self._on_failed
        next_queue_id = opened.file.state.next_queue_id
        faults = [] if opened.is_new else _without_collections(lambda: restore(broker, opened.rows, next_queue_id))
        for sentence in (*opened.notices, *opened.reports, *faults):
            log.error("%s", sentence, extra=event("definitions.damaged"))
        for notice in opened.notices:
            broker.notices.add(notice)
        if faults:
            more = f" (and {len(faults) - 1} more; see the log)" if faults[1:] else ""
            broker.notices.add(faults[0] + more)

    def close(self) -> None:
        """Write what is left and a snapshot; returns when it is on disk, or cannot be."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        stopped = Event()
        self.store.stop(stopped.set)
        if not stopped.wait(CLOSE_S_MAX):
            extra = event("definitions.unsynced")
            log.error("the disk did not sync the last definitions within %d seconds", CLOSE_S_MAX, extra=extra)
            return
        thread.stop()

    def _on_trouble(self, text: str) -> None:
        assert self._broker is not None
        self._broker.notices.withdraw(self._trouble)
        self._trouble = text
        if text:
            log.error("%s; retrying each second", text, extra=event("definitions.stalled"))
            self._broker.notices.add(text)
        else:
            log.info("definitions can be written again", extra=event("definitions.resumed"))

    def _on_failed(self, text: str) -> None:
        assert self._broker is not None
        log.critical("cannot write definitions, stopping the node: %s", text, extra=event("definitions.failed"))
        self._broker.definitions_failed(text)
        self._failed()


def _without_collections(call: Callable[[], T]) -> T:
    """Call without garbage collections: the rows' objects stay, and walking over 100,000 of them takes as long."""
    gc.disable()
    try:
        return call()
    finally:
        gc.enable()
