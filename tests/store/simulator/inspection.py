"""Inspection: a start on the files that a crash leaves, and the comparison of what it finds with the model."""

from typing import TYPE_CHECKING, Any, NamedTuple

from pybroker.seq_ranges import SeqRanges
from pybroker.session import Turn
from pybroker.store.definitions.commit_marker import read_commit_marker
from pybroker.store.definitions.rows import queue_ids
from pybroker.store.definitions.snapshot import read_snapshots
from pybroker.store.disk import DiskError
from pybroker.store.journal.journal import Journal
from pybroker.store.log_path import open_log
from pybroker.store.memory import MemoryDefinitions
from pybroker.store.recovery.recovery import Recovery
from tests.clock import FakeClock
from tests.inline_worker import InlineWorker
from tests.store.journals import body
from tests.store.records import rows_of
from tests.store.simulator.streams import Contents, Streams, contents_after, known_ids, streams_of
from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from pybroker.store.definitions.definitions import Definitions
    from pybroker.store.recovery.recovery import Recovered
    from pybroker.store.worker import Worker
    from tests.store.simulator.disk import SimulatedDisk
    from tests.store.simulator.model import Model
    from tests.store.simulator.rows import Rows


class Findings(NamedTuple):
    """The findings of a start: `seqs` that live by queue, `told` how often delivered, and until when they wait."""

    recovered: "Recovered"
    rows: dict[tuple[str, Any], Any]
    ids: dict[int, str]
    seqs: dict[int, list[int]]
    told: dict[tuple[int, int], tuple[int, int]]


def definitions_of(rows: "Rows") -> dict[tuple[str, Any], Any]:
    """Return definitions by kind and key."""
    return {key: row.value for key, row in rows.rows.items()}


def ids_of(rows: dict[tuple[str, Any], Any]) -> dict[int, str]:
    """Return the names of the queues by their ids."""
    by_kind: dict[str, Any] = {"queue": {}, "exchange": {}}
    for (kind, key), value in rows.items():
        if kind in by_kind:
            by_kind[kind][key] = value
    assert len(set(queue_ids(by_kind))) == len(queue_ids(by_kind)), "an id is used twice"
    streams = streams_of(rows)
    return {value["id"]: key[1] for key, value in by_kind["queue"].items() if value["id"] not in streams}


def recovery(data: "SimulatedDisk", rows: dict[tuple[str, Any], Any]) -> Recovery:
    """Return the look that a start takes at the log of a data folder, with these definitions."""
    return Recovery(open_log(data), known_ids(rows), lambda done, of: None, data)


def journal(
    data: "SimulatedDisk",
    threads: "tuple[Worker, Worker]",
    clock: FakeClock,
    turn: Turn,
    definitions: "Definitions",
    found: "Recovered",
) -> Journal:
    """Return the log of a data folder as recovery found it; `threads` are the journal's and the files'."""
    return Journal(open_log(data), *threads, clock, turn, definitions, found, data)


def findings(rows: "Rows", recovered: "Recovered") -> Findings:
    """Return what a start found in plain words. Raises Violation for what does not fit together."""
    found = definitions_of(rows)
    ids = ids_of(found)
    seqs: dict[int, list[int]] = {}
    for queue_id, parts in recovered.queues.items():
        if queue_id not in ids:
            continue  # of a stream: that is read as a whole
        mine = seqs[queue_id] = []
        for _, _, seq_ranges in parts:
            before = 0
            for first, count, _ in seq_ranges.ranges():
                if first <= before:
                    raise Violation("order", f"queue {queue_id}: message {first} comes after {before}")
                before = first + count - 1
                mine.extend(range(first, first + count))
    told = {}
    for queue_id, returned in recovered.returned.items() if ids else ():
        for first, last, times, due_ms in rows_of(returned):
            for seq in range(first, last + 1):
                told[queue_id, seq] = times, due_ms
    return Findings(recovered, found, ids, seqs, told)


def check_ledger(found: Findings) -> None:
    """See whether the segments' counts are what lives."""
    counts: dict[int, int] = {}
    for segment in found.recovered.live_index.segments:
        if (
            segment.live < 0
            or segment.live != sum(segment.pairs.values())
            or min(segment.pairs.values(), default=0) < 0
        ):
            raise Violation("live", f"segment {segment.number}: {segment.live} live, by queue {segment.pairs}")
        for queue_id, count in segment.pairs.items():
            counts[queue_id] = counts.get(queue_id, 0) + count
    for queue_id, seqs in found.seqs.items():
        if counts.get(queue_id, 0) != len(seqs):
            raise Violation("live", f"queue {queue_id}: {counts.get(queue_id)} counted, {len(seqs)} there")


def check_definition_files(model: "Model", disk: "SimulatedDisk", rows: "Rows", *, closely: bool) -> None:
    """See whether a start would believe the file of the definitions, and the snapshots are what they say."""
    changes = rows.state.changes
    if read_commit_marker(disk) > changes:
        raise Violation("marker", f"change {read_commit_marker(disk)} was noted, the file has {changes}")
    if not closely:
        return
    snapshots, faults = read_snapshots(disk)
    if faults:
        raise Violation("snapshot", "; ".join(faults.values()))
    for snapshot in snapshots:
        if snapshot.changes > changes:
            raise Violation("snapshot", f"{snapshot.name} is as of {snapshot.changes}, the file of {changes}")
        if snapshot.changes >= model.base_commit_position:
            model.check_rows({key: row.value for key, row in snapshot.rows().items()}, snapshot.changes, 0)


def read_all(model: "Model", data: "SimulatedDisk", found: Findings) -> None:
    """Read every message that lives."""
    files = InlineWorker()
    log = journal(data, (InlineWorker(), files), FakeClock(), Turn(), MemoryDefinitions(), found.recovered)
    complaints: list[str] = []
    log.on_unreadable = complaints.append
    wanted = SeqRanges()
    for seq in sorted({seq for seqs in found.seqs.values() for seq in seqs}):
        wanted.add(seq, 1, 0)
    if not wanted.count:
        return
    got: list[Any] = []
    log.fetch(0, wanted, got.extend)
    files.run()
    bodies = {run.first_seq + at: body(run.content(at)) for run, indexes in got for at in indexes}
    if complaints or len(bodies) != wanted.count:
        raise Violation("unreadable", f"{len(bodies)} of {wanted.count} can be read: {complaints}")
    for queue_id, seqs in found.seqs.items():
        for seq in seqs:
            if bodies[seq] != model.queues[queue_id][seq].body:
                raise Violation("phantom", f"message {seq} of queue {queue_id} has another body")


def inspect(
    model: "Model",
    disk: "SimulatedDisk",
    rows: "Rows",
    completed: int,
    defined: int,
    *,
    closely: bool,
    read: bool,
    told: str = "",
) -> Findings:
    """Start on these files, and compare; `closely`: the snapshots too, `read`: all messages. Raises Violation.

    A report that begins with `told` is no violation.
    """
    check_definition_files(model, disk, rows, closely=closely)
    found_rows = definitions_of(rows)
    model.check_rows(found_rows, rows.state.changes, defined)
    try:
        recovered = recovery(disk, found_rows).run()
    except DiskError as error:
        raise Violation("start", str(error)) from error
    found = findings(rows, recovered)
    if read:
        read_all(model, disk, found)
    compare(model, found, completed, told, contents_of(disk, found) if streams_of(found_rows) else {})
    return found


def contents_of(data: "SimulatedDisk", found: Findings) -> dict[int, Contents]:
    """Start all of a node's streams on these files, which are changed by that, and return what is in them."""
    workers = [InlineWorker() for _ in range(4)]
    names = {"streams": workers[2], "stream reads": workers[3]}
    clock, turn, definitions, told = FakeClock(), Turn(), MemoryDefinitions(), []
    streams = Streams(data, clock, turn, definitions, lambda name, _: names[name], told.append, retain=False)
    streams.load(found.rows)
    recovered, chunks = streams.find(found.recovered)
    log = journal(data, (workers[0], workers[1]), clock, turn, definitions, recovered)
    log.on_completed = streams.broker.log_completed
    streams.begin(log, recovered, chunks)
    return contents_after(streams, log, workers, told)


def contents_to_come(disk: "SimulatedDisk", rows: "Rows") -> dict[int, Contents]:
    """Return what the next start is going to find in streams."""
    found = definitions_of(rows)
    if not streams_of(found):
        return {}
    copy = disk.killed()
    return contents_of(copy, findings(rows, recovery(copy, found).run()))


def compare(
    model: "Model", found: Findings, completed: int, told: str = "", streams: "dict[int, Contents] | None" = None
) -> None:
    """Compare what a start found with the model. Raises Violation."""
    reports = [report for report in found.recovered.reports if not told or not report.startswith(told)]
    if reports:
        raise Violation("report", "; ".join(reports))
    known = set(found.ids)
    model.check(known, found.seqs, completed, streams)
    if not found.recovered.clean:
        model.check_returns(known, found.told, completed, model.clock.timestamp_ms)
    check_ledger(found)
