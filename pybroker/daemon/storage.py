"""Storage: the log's threads, its recovery at the start and its end at a clean stop. The log itself is in `store/`.

The order at a start: definitions first, since they say which queues exist; then what the log has for them.
"""

import logging
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import gevent
from gevent.event import Event

from pybroker.core.metadata import recovery
from pybroker.daemon.start_error import StartError
from pybroker.daemon.stream_files import StreamFiles
from pybroker.daemon.threads import CLOSE_S_MAX, ThreadWorker
from pybroker.log_event import BUG, event
from pybroker.net.loop_cycle import LoopCycle
from pybroker.store import page_log
from pybroker.store.disk import Disk, DiskError
from pybroker.store.format import VersionError, segment_number
from pybroker.store.journal.journal import QUIET_MS, Journal
from pybroker.store.log_path import PARTS, log_folder, open_log
from pybroker.store.page_log import PageLog
from pybroker.store.recovery.quarantine import QUARANTINE
from pybroker.store.recovery.recovery import Recovery
from pybroker.store.segments.newest import NAME as NEWEST
from pybroker.store.streams.straight import committed_seqs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from pybroker.core.broker import Broker
    from pybroker.daemon.system.systemd import Notifier

# How often systemd is told of the recovery's progress, and how long it is to wait for the next message.
PROGRESS_S: Final = 1.0
STALL_S: Final = 60

log = logging.getLogger("pybroker")
T = TypeVar("T")


class Storage:
    """Used by the daemon: `open` once, `close` once. `recovering` is how much of the log was read, in percent.

    `on_full` is called with the reason if there is no room for the log, and with an empty text when there is again.
    """

    def __init__(
        self,
        folder: "Path",
        broker: "Broker",
        notifier: "Notifier",
        on_failed: "Callable[[], None]",
        on_full: "Callable[[str], None]",
    ) -> None:
        self._data = Disk(folder)
        self._late = self._stalled = ""
        self._broker = broker
        self._notifier = notifier
        self._on_failed = on_failed
        self._on_full = on_full
        assert isinstance(broker.turn, LoopCycle)
        self._turn = broker.turn
        self._files: ThreadWorker | None = None
        self._journal_thread: ThreadWorker | None = None
        self._stream_files: StreamFiles | None = None
        self._ticker: Any = None
        self.journal: Journal | None = None
        self.recovering: int | None = None

    def open(self) -> None:
        """Find what the log has, give it to its queues, and write from now on.

        Raises:
            StartError: the folder cannot be read or written, or a newer program wrote it.

        """
        broker = self._broker
        try:
            known = recovery.durable_queues(broker)
            aside = self._log_without_definitions(known)
            disk = open_log(self._data)
            self._files = ThreadWorker("files", self._turn)
            pages = self._empty_pages()
            found = self._in_files(Recovery(disk, known.keys(), self._progressed, self._data).run)
            streams = self._stream_files = StreamFiles(disk, self._turn, self._unreadable)
            chunks = self._in_files(partial(streams.find, known.values(), committed_seqs(found)))
            # Seqs never come again, even if the end of the log is lost: by them the streams know what they have.
            last_seq = max((each.writer.last_seq for each in chunks.values()), default=0)
            found = replace(found, next_seq=max(found.next_seq, last_seq + 1))
            broker.next_queue = max(broker.next_queue, found.next_queue_id)
            self._journal_thread = ThreadWorker("journal", self._turn)
            journal = Journal(
                disk, self._journal_thread, self._files, broker.clock, self._turn, broker.definitions, found, self._data
            )
        except (OSError, DiskError, VersionError) as error:
            self._stop_threads()
            code = os.EX_CONFIG if isinstance(error, VersionError) else os.EX_IOERR
            raise StartError(f"cannot open the log in {log_folder(self._data.root)}: {error}", code) from None
        journal.on_closing = broker.streams.straight.log_closing
        journal.on_completed = broker.log_completed
        journal.on_failed = self._failed
        journal.on_full = self._on_full
        journal.on_unreadable = self._unreadable
        journal.on_stalled = self._stalled_told
        journal.reader.on_late = self._late_told
        self._journal_thread.on_error = journal.fail
        self._files.on_error = self._files_failed
        streams.fail_with(journal.fail, self._files_failed)
        self.journal = broker.log = journal
        broker.pages = PageLog(pages, self._files, self._unreadable)
        broker.streams.open_files = streams.open
        streams.give(known.values(), chunks)
        count = recovery.restore(known, found, journal.steady_ms, broker.clock.now_ms)
        if found.cut:
            log.info("%s", found.cut, extra=event("store.log.cut"))
        for report in (*aside, *found.reports, *recovery.losses(known, found)):
            self._unreadable(report)
        if count:
            log.info("recovered %d messages", count, extra=event("store.recovered", messages=count))
            # The log is not clean any more: a consumer may see any of the messages before the next stop.
            journal.commit_nothing()
        self._ticker = gevent.spawn(self._tick)

    def _log_without_definitions(self, known: "Collection[int]") -> list[str]:
        """Move a log aside whose definitions are all gone: no queue is known, so that all of it would be given up.

        Return a sentence about it, if it was so.
        """
        lost = self._broker.definitions.is_new and not known
        if not lost or not any(map(segment_number, open_log(self._data).names())):
            return []
        place = f"{QUARANTINE}/{PARTS[0]}.{self._broker.clock.timestamp_ms}"
        self._data.below(QUARANTINE)
        self._data.rename(PARTS[0], place)
        self._data.sync_folder()
        if NEWEST in self._data.names():
            self._data.unlink(NEWEST)
        text = (
            "all definitions are missing, and with them the queues of the messages in the log; the log is "
            f"kept as {place}. To recover, stop the node, restore the definitions and move the log back"
        )
        return [text]

    def _empty_pages(self) -> Disk:
        """Return the folder for pages; nothing in it is of this life."""
        pages = self._data.below(page_log.FOLDER)
        self._in_files(partial(page_log.empty, pages))
        return pages

    def _in_files(self, job: "Callable[[], T]") -> "T":
        """Have something done in the files thread; the hub answers the control socket meanwhile."""
        assert self._files is not None
        result: list[Any] = []
        ended = Event()

        def done(found: Any) -> None:
            result.append(found)
            ended.set()

        self._files.submit(job, done)
        while not ended.wait(PROGRESS_S):
            self._notifier.starting(f"recovering, {self.recovering or 0} %", STALL_S)
        self.recovering = None
        if isinstance(result[0], BaseException):
            raise result[0]
        found: T = result[0]
        return found

    def _progressed(self, done: int, of: int) -> None:
        self.recovering = 100 * done // of if of else 100

    def close(self) -> None:
        """Have everything on disk, with what was delivered before: the next start knows all there is to know."""
        if self._ticker is not None:
            self._ticker.kill(block=False)
        journal, self.journal = self.journal, None
        if journal is not None and not journal.failed:
            ended = Event()
            self._broker.removals.finish()
            self._broker.purge_task.finish()
            journal.close(recovery.delivered(self._broker, journal.steady_ms), lambda _: ended.set())
            if not ended.wait(CLOSE_S_MAX) or journal.failed or journal.completed < journal.last_commit_position:
                reason = (
                    journal.failed
                    or journal.full
                    or journal.stalled
                    or f"it took longer than {CLOSE_S_MAX:.0f} seconds"
                )
                extra = event("store.log.unsynced")
                log.error(
                    "the disk did not sync the end of the log, acknowledgements may be lost: %s", reason, extra=extra
                )
                self._on_failed()
        if journal is not None and self._files is not None:
            # The next start would do it as well; until then it is room for others.
            self._files.submit(partial(page_log.empty, Disk(self._data.root / page_log.FOLDER)), lambda _: None)
        self._stop_threads()

    def _stop_threads(self) -> None:
        if self._stream_files is not None:
            self._stream_files.close()
        for thread in (self._journal_thread, self._files):
            if thread is not None:
                thread.stop()
        self._journal_thread = self._files = self._stream_files = None

    def _tick(self) -> None:
        journal, clock = self.journal, self._broker.clock
        assert journal is not None
        while True:
            gevent.sleep(QUIET_MS / 1000)
            clock.refresh()
            try:
                journal.tick()
                if self._broker.pages is not None:
                    self._broker.pages.reader.tick(clock.now_ms)
            except Exception:
                # A bug, or memory is short: without ticks quiet batches and a full disk would wait for ever.
                log.exception("the log's tick failed", extra=event(BUG))

    # -- what the log says ---------------------------------------------------------------------------------------------

    def _failed(self, text: str) -> None:
        try:
            log.critical("cannot write the log, stopping the node: %s", text, extra=event("store.log.failed"))
            self._broker.log_failed(text)
        finally:
            self._on_failed()

    def _files_failed(self, error: Exception) -> None:
        """Stop if memory is so short that nobody knows what should have followed a job."""
        if isinstance(error, MemoryError) and self.journal is not None:
            self.journal.fail(error)

    def _late_told(self, text: str) -> None:
        self._pass_on(self._late, text)
        if text:
            log.error("%s", text, extra=event("store.read.late"))
        else:
            log.info("messages can be read again", extra=event("store.read.resumed"))
        self._late = text

    def _stalled_told(self, text: str) -> None:
        text = text and f"confirms are delayed, the log retries ten times a second: {text}"
        self._pass_on(self._stalled, text)
        if text:
            log.error("%s", text, extra=event("store.log.stalled"))
        else:
            over = "the log can be written again, confirms are no longer delayed"
            log.info(over, extra=event("store.log.resumed"))
        self._stalled = text

    def _pass_on(self, before: str, text: str) -> None:
        """Have operators know what is the matter now, and that it is no more."""
        self._broker.notices.withdraw(before)
        if text:
            self._broker.notices.add(text)

    def _unreadable(self, text: str) -> None:
        log.error("%s", text, extra=event("store.log.damaged"))
        self._broker.notices.add(text)
