"""Streams of a node: the real core and the real files of streams, put together as the daemon does it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

from pybroker.core.broker import Broker
from pybroker.core.metadata import recovery
from pybroker.core.metadata.store import save_queue
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.settings import Settings
from pybroker.core.stream.make import STREAM, make_queue
from pybroker.core.stream.stream import Stream
from pybroker.daemon import stream_files
from pybroker.session import Turn
from pybroker.store.log import companion_of
from pybroker.store.log_path import open_log
from pybroker.store.streams.straight import committed_seqs
from pybroker.wire.table import Table
from tests.entries import bodies_of
from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.clock import Clock
    from pybroker.store.definitions.definitions import Definitions
    from pybroker.store.journal.journal import Journal
    from pybroker.store.recovery.recovery import Recovered
    from pybroker.store.worker import Worker
    from tests.inline_worker import InlineWorker

# All of a stream, in one read.
ALL_OCTETS = 1 << 40
# Turns within which all that a start found has moved into the files.
PATIENCE = 200


class Contents(NamedTuple):
    """All that a reader gets of a stream: bodies by offset. `publishers` have these last ids."""

    first_offset: int
    next_offset: int
    bodies: dict[int, bytes]
    publishers: dict[str, int]


def streams_of(rows: dict[tuple[str, Any], Any]) -> dict[int, str]:
    """Return the names of the streams by their ids."""
    return {
        value["id"]: key[1] for (kind, key), value in rows.items() if kind == "queue" and value.get("type") == STREAM
    }


def known_ids(rows: dict[tuple[str, Any], Any]) -> set[int]:
    """Return all ids under which the log may have something."""
    streams = set(streams_of(rows))
    queues = {value["id"] for (kind, _), value in rows.items() if kind == "queue"}
    return queues | {companion_of(each) for each in streams}


def limits_of(stream_id: int, *, retains: bool) -> QueueLimits:
    """Return the limits of a stream: some lose what is too much, segments are small or very small."""
    octets_max = 7_000 if retains and stream_id % 3 == 0 else None
    return QueueLimits(queue_type=STREAM, octets_max=octets_max, segment_octets_max=(1_600, 5_000)[stream_id % 2])


class Streams:
    """A broker that has nothing but streams. `worker` makes the threads of their files by name.

    One that does not `retain` removes nothing that is too much.
    """

    def __init__(
        self,
        data: Any,
        clock: "Clock",
        turn: Turn,
        definitions: "Definitions",
        worker: "Callable[[str, Turn], Worker]",
        told: "Callable[[str], None]",
        *,
        retain: bool = True,
    ) -> None:
        self._retain = retain
        self.broker = Broker(Settings(), clock, turn)
        self.broker.definitions = definitions
        with patch.object(stream_files, "ThreadWorker", worker):
            self.files = stream_files.StreamFiles(open_log(data), turn, told)
        self.streams: dict[int, Stream] = {}

    @property
    def known(self) -> dict[int, Any]:
        """Return streams, and what they have beside messages, by the ids that the log knows."""
        known: dict[int, Any] = dict(self.streams)
        known.update({each.tracking.id: each.tracking for each in self.streams.values()})
        return known

    def make(self, name: str, stream_id: int) -> Stream:
        """Make a stream."""
        vhost = self.broker.vhosts["/"]
        self.broker.next_queue = stream_id
        limits = limits_of(stream_id, retains=self._retain)
        made = make_queue(vhost, name, durable=True, auto_delete=False, owner=None, arguments=Table(), limits=limits)
        assert isinstance(made, Stream)
        self.streams[stream_id] = vhost.queues[name] = made
        return made

    def declare(self, name: str, stream_id: int) -> None:
        """Declare a new stream, whose row is saved."""
        save_queue(self.make(name, stream_id))

    def load(self, rows: dict[tuple[str, Any], Any]) -> None:
        """Make the streams that a start finds."""
        for stream_id, name in sorted(streams_of(rows).items()):
            made = self.make(name, stream_id)
            if rows["queue", ("/", name)].get("has_files"):
                made.note_files()

    def find(self, recovered: "Recovered") -> "tuple[Recovered, dict[int, Any]]":
        """Read the folders of all streams; blocks."""
        chunks = self.files.find(self.known.values(), committed_seqs(recovered))
        last_seq = max((each.writer.last_seq for each in chunks.values()), default=0)
        return replace(recovered, next_seq=max(recovered.next_seq, last_seq + 1)), chunks

    def begin(self, log: "Journal", recovered: "Recovered", chunks: dict[int, Any]) -> None:
        """Go on with what a start found."""
        broker, known = self.broker, self.known

        def read_failed(error: Exception) -> None:
            if isinstance(error, MemoryError):
                log.fail(error)

        self.files.fail_with(log.fail, read_failed)
        broker.log = log
        broker.streams.open_files = self.files.open
        self.files.give(known.values(), chunks)
        mine = {queue_id: parts for queue_id, parts in recovered.queues.items() if queue_id in known}
        recovery.restore(known, replace(recovered, queues=mine), log.steady_ms, broker.clock.now_ms)

    def forget(self, stream: Stream) -> None:
        """Let a stream go whose row is gone, as a removal does."""
        del self.streams[stream.id], self.broker.vhosts["/"].queues[stream.name]
        stream.deleted = True
        try:
            stream.log.forget_queue(stream.id)
            stream.purge()
        finally:
            stream.discard()


def read_contents(stream: Stream, workers: "list[InlineWorker]") -> Contents:
    """Return all that a reader of a stream gets."""
    bodies: dict[int, bytes] = {}
    first = offset = stream.first_offset
    while offset < stream.next_offset:
        answers: list[Any] = []
        stream.read(offset, ALL_OCTETS, answers.append)
        for _ in range(PATIENCE):
            if answers:
                break
            _work(workers)
            stream.streams.tick()
        (found,) = answers
        if isinstance(found, BaseException):
            raise Violation("stream unreadable", f"{stream!r}: {found}")
        if not found:
            break
        for run in found:
            bodies.update({run.first_seq + at: body for at, body in enumerate(bodies_of(run))})
            offset = run.first_seq + run.count
    bodies = {offset: body for offset, body in bodies.items() if offset >= first}
    return Contents(first, stream.next_offset, bodies, dict(stream.tracking.publisher_ids))


def _work(workers: "list[InlineWorker]") -> None:
    while any(map(len, workers)):
        for worker in workers:
            worker.run()


def contents_after(
    streams: Streams, log: "Journal", workers: "list[InlineWorker]", told: list[str]
) -> dict[int, Contents]:
    """Let a start come to rest, and return what its streams have. Raises Violation for damage that it told of."""
    for _ in range(PATIENCE):
        log.commit()
        _work(workers)
        streams.broker.streams.tick()
        if all(
            each.tracking.is_ready and each.files.next_offset >= each.recovered_offset
            for each in streams.streams.values()
        ):
            break
    else:
        raise Violation("stream stuck", "what a start found does not move")
    if told:
        raise Violation("stream report", "; ".join(told))
    return {stream_id: read_contents(each, workers) for stream_id, each in streams.streams.items()}
