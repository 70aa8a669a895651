"""Mutants: faults planted into the store as it is imported, each of which the simulator has to find.

A mutant is text of one module that is replaced. If the store changes so that a text is not found any more, plant the
mutant anew.
"""

import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from typing import Any, NamedTuple

import pybroker

STORE = Path(pybroker.__file__).parent / "store"


class Mutant(NamedTuple):
    """In `module` of store/, `old` becomes `new`; `why` says what that breaks.

    `only`: the dimensions in which that shows soonest.
    """

    module: str
    old: str
    new: str
    why: str
    only: str = "kill,power,stop,backup"


MUTANTS = {
    "stale_first_seq": Mutant(
        "journal.journal",
        "self.maintenance.segment_for(builder.room, self._sealed_seq)",
        "self.maintenance.segment_for(builder.room, self.safe_seq)",
        "a segment that begins while batches wait for definitions or the disk takes over seqs of the one before",
    ),
    "thrown_away": Mutant(
        "log",
        "        try:\n            step(self, *arguments)\n        except Exception as error:  # noqa: BLE001 - "
        "whatever it is, no commit position may complete behind it\n            self.fail(error)\n",
        "        step(self, *arguments)\n",
        "an exception amid a batch throws it away, and the commit position of the next one confirms it",
        only="line,submit",
    ),
    "half_gathered": Mutant(
        "journal.journal",
        "                self.want(self.last_commit_position + 1)\n"
        "        except Exception as error:\n            self.fail(error)\n            raise\n",
        "                self.want(self.last_commit_position + 1)\n"
        "        except ZeroDivisionError:\n            raise\n",
        "half of a call that ended with an exception is written",
        only="line",
    ),
    "no_sync": Mutant(
        "journal.writer",
        "        disk.sync(file)\n        if not",
        "        if not",
        "a batch is confirmed before it is on disk",
    ),
    "no_folder_sync": Mutant(
        "journal.writer",
        "            disk.rename(made, name)\n            disk.sync_folder()\n",
        "            disk.rename(made, name)\n",
        "a segment may lose its name with the power",
    ),
    "gate_ignored": Mutant(
        "journal.journal",
        "        if batch.definitions_commit_position > self.definitions.completed:\n            return\n",
        "",
        "a message is confirmed before its queue is on disk",
    ),
    "early_checkpoint": Mutant(
        "journal.maintenance",
        "if self._pending is not None and self._pending.commit_position <= commit_position:",
        "if self._pending is not None:",
        "a checkpoint speaks of settles that are not on disk",
    ),
    "one_checkpoint": Mutant(
        "journal.maintenance",
        "        behind = self.checkpoints[CHECKPOINTS - 1]",
        "        behind = journal.last_commit_position",
        "a segment goes whose settles no older checkpoint knows",
        only="kill,missing",
    ),
    "wrong_segment": Mutant(
        "segments.live_index",
        "            end = firsts[at + 1] - 1 if at + 1 < len(firsts) else last\n",
        "            end = firsts[at + 1] if at + 1 < len(firsts) else last\n",
        "what settles the first message of a segment is charged to the one before",
    ),
    "footer_cut_first": Mutant(
        "segments.segment",
        "        disk.sync(file)\n        disk.truncate(file, used + len(octets))\n        disk.sync(file)\n",
        "        disk.truncate(file, used + len(octets))\n        disk.sync(file)\n",
        "a segment may have lost its end without its footer saying where that was",
    ),
    "forgotten_early": Mutant(
        "journal.journal",
        "forgotten[0][0] <= on_disk and ",
        "",
        "the messages of a queue go although a crash may bring the queue back",
    ),
    "marker_ahead": Mutant(
        "definitions.definition_store",
        "        self._marker.write(self._file.apply(batch).changes)",
        "        self._marker.write(batch.upto)\n        self._file.apply(batch)",
        "the definitions are taken for damaged after a kill",
    ),
    "gathered_again": Mutant(
        "definitions.definition_store",
        "            self._gathered = {**(batch.changes if not self._clear else {}), **self._gathered}\n",
        "            self._gathered = {**self._gathered, **batch.changes}\n",
        "a refused batch that is tried again goes before what was changed since",
        only="kill,rows",
    ),
    "early_definitions": Mutant(
        "definitions.definition_store",
        "        self.completed = batch.upto\n        self.on_completed(batch.upto)",
        "        self.completed = self.commit_position\n        self.on_completed(self.commit_position)",
        "what waits for definitions goes on before they are on disk",
    ),
    "compacted_away": Mutant(
        "journal.compaction",
        "                self._add(publish_record.publish(set_id, run, each, run.arrived_ms, self._seed))",
        "                self._add(publish_record.publish(set_id, run, each[:1], run.arrived_ms, self._seed))",
        "compaction drops a live message",
    ),
    "compacted_early": Mutant(
        "journal.maintenance",
        "if self._settled is not None and self._settled[0] <= commit_position:",
        "if self._settled is not None:",
        "compaction drops messages whose settles are not on disk",
    ),
    "copied_early": Mutant(
        "journal.maintenance",
        "        return self._held[commit_position]\n",
        "        return True\n",
        "a backup copies before the commit position that it is as of is on disk",
    ),
    "not_held": Mutant(
        "journal.maintenance",
        "        if self._held or len(self.checkpoints) < CHECKPOINTS",
        "        if len(self.checkpoints) < CHECKPOINTS",
        "a segment goes while a backup copies it",
    ),
    "torn_believed": Mutant(
        "recovery.recovery",
        "        if batch.whole or batch.commit_position <= self._proven:",
        "        if batch.left < 3 or batch.commit_position <= self._proven:",
        "the torn end of the log is taken for damage",
    ),
    "counts_forgotten": Mutant(
        "journal.batch_builder",
        "            if deliveries:\n"
        "                live_index.returned.add(queue_id, deliveries, 0, pairs)\n"
        "            else:",
        "            if not deliveries:",
        "a checkpoint does not know how often messages were delivered",
    ),
    "dues_forgotten": Mutant(
        "journal.batch_builder",
        "            live_index.returned.add(queue_id, deliveries, due_ms, pairs)",
        "            live_index.returned.add(queue_id, deliveries, 0, pairs)",
        "a checkpoint does not know until when messages wait",
    ),
    "dues_unread": Mutant(
        "recovery.recovery",
        "            batch.delays += decode_delay(payload)",
        "            decode_delay(payload)",
        "what came back since the checkpoint does not wait after a start",
    ),
    "stream_not_synced": Mutant(
        "streams.writer",
        "            if synced:\n                disk.sync(file)\n            active.synced",
        "            active.synced",
        "what moved into a stream's files is settled before it is on disk there",
        only="kill,power,streams",
    ),
    "uncommitted_write": Mutant(
        "streams.tail",
        "        if self._committed_seq is not None:\n",
        "        if False:\n",
        "a straight write counts after a start though the log did not commit it",
        only="kill,power,streams",
    ),
    "mark_overlooked": Mutant(
        "streams.straight",
        "self._seqs.get(stream_id, 0)",
        "0",
        "a straight write is cut off though the log committed it",
        only="kill,power,streams",
    ),
    "counted_early": Mutant(
        "streams.stream_log",
        "        self._uncommitted = numbers, result\n",
        "        self._uncommitted = numbers, result\n        self._count(numbers, result)\n",
        "readers get what the log has not committed",
        only="kill,power,streams",
    ),
    "floor_not_kept": Mutant(
        "streams.writer",
        "                    self.folder.write_meta(floor, self._newest)\n                except",
        "                    pass\n                except",
        "messages that were truncated come back",
        only="kill,power,streams",
    ),
    "torn_write_kept": Mutant(
        "streams.writer",
        "        if broken:\n            self._discard(active)\n        while",
        "        while",
        "what a failed write left is believed",
        only="disk,full,kill,power,streams",
    ),
}


class Planter(MetaPathFinder, Loader):
    """Imports modules of the store with mutants in them."""

    def __init__(self, mutants: list[Mutant]) -> None:
        self._mutants = mutants

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        module = name.removeprefix("pybroker.store.")
        if module != name and any(each.module == module for each in self._mutants):
            return importlib.util.spec_from_file_location(name, STORE / f"{module.replace('.', '/')}.py", loader=self)
        return None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        name = module.__name__.removeprefix("pybroker.store.")
        path = STORE / f"{name.replace('.', '/')}.py"
        text = path.read_text()
        for each in self._mutants:
            if each.module == name:
                assert text.count(each.old) == 1, f"{path.name} does not have this text once any more: {each.old}"
                text = text.replace(each.old, each.new)
        exec(compile(text, path, "exec"), module.__dict__)


def plant(names: list[str]) -> None:
    """Have the store imported with these mutants; nothing of it may have been imported yet."""
    planted = [MUTANTS[name] for name in names]
    for each in planted:
        assert f"pybroker.store.{each.module}" not in sys.modules, f"{each.module} is imported already"
    sys.meta_path.insert(0, Planter(planted))
