"""World: several lives of a node on one disk, each ended by a kill, a loss of power or a stop, all from one seed."""

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from pybroker.store.disk import DiskError
from pybroker.store.format import segment_number
from pybroker.store.log_path import open_log
from pybroker.store.segments.checkpoint import checkpoint_commit_position
from tests.clock import FakeClock
from tests.store.records import rows_from
from tests.store.simulator.copies import Copy
from tests.store.simulator.disk import SimulatedDisk, SimulatedPower
from tests.store.simulator.fault import Fault
from tests.store.simulator.inspection import Findings, contents_to_come, definitions_of, findings, inspect, recovery
from tests.store.simulator.invariants import check_rest, check_running
from tests.store.simulator.model import Model
from tests.store.simulator.node import Node
from tests.store.simulator.rows import Rows
from tests.store.simulator.stream_traffic import StreamTraffic
from tests.store.simulator.threads import SimulatedThread
from tests.store.simulator.traffic import Numbers, Traffic
from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

LIVES = 8
FAULTS = ("line", "disk", "rows", "submit")
# Turns of all threads within which whatever was begun must have come to its end.
PATIENCE = 4_000
COPIES_MAX = 2
# Before a full disk had room for the first checkpoint a start cannot know that there was none.
NO_CHECKPOINT = "all checkpoints of the log are missing or damaged"


class World:
    """`points` counts what was checked, by dimension. Raises Violation from `run`."""

    def __init__(self, seed: str, dimensions: frozenset[str], events: "list[str] | None" = None) -> None:
        self.rng = random.Random(seed)
        self.dimensions = dimensions
        self.events = events
        self.points: Counter[str] = Counter()
        self.clock = FakeClock()
        self.model = Model()
        self.model.clock = self.clock
        self.numbers = Numbers()
        self.disk = SimulatedDisk(SimulatedPower())
        self.rows = Rows()
        self.node: Node
        self.traffic: Traffic | None = None
        self.streams: StreamTraffic  # as long as there is traffic
        self._seen = (-1, -1, -1)
        self._actions: list[Callable[[], None]] = []

    def run(self) -> None:
        """Live several lives."""
        for number in range(LIVES):
            self._tell(f"life {number}")
            try:
                self._live()
            finally:
                self._fault.look_away()

    @property
    def fault(self) -> str:
        """Return what error this life has met."""
        return f"{self._fault.name} at {self._fault.hit}" if self._fault.hit else "no error"

    def _tell(self, text: str) -> None:
        if self.events is not None:
            self.events.append(text)

    # -- a life --------------------------------------------------------------------------------------------------------

    def _live(self) -> None:
        rng = self.rng
        kinds = tuple(kind for kind in FAULTS if kind in self.dimensions)
        self._fault = Fault.draw(rng, kinds) if kinds and rng.random() < 0.8 else Fault()
        self.traffic = None
        self._copies: list[Copy] = []
        self._seen = (-1, -1, -1)
        self._contents = contents_to_come(self.disk, self.rows)
        node = self.node = Node(self.disk, self.rows, self.clock, self._fault, self.model)
        # Now and then the error comes while the log is read, mostly amid the work.
        strikes_at = 0 if rng.random() < 0.1 else rng.randrange(20, 160)
        self._weights = [rng.choice((0.1, 0.5, 1, 3)) for _ in node.threads]
        self._streams_share = rng.choice((0.0, 0.4, 0.95))
        self._traffic_weight = rng.choice((1.0, 1.0, 0.1))
        self._sampling = rng.choice((0.0, 0.0, 0.05, 0.05, 0.5))
        after = rng.randrange(5, 60)
        for step in range(rng.randrange(60, 220)):
            if step == strikes_at:
                self._fault.armed = True
            self._act()
            self._maybe_inspect()
            if node.ended or self._fault.hit:
                after -= 1
                if after < 0:
                    break
        if self._fault.hit:
            self.points[self._fault.name] += 1
        self._tell(f"fault {self._fault.name} {self._fault.hit or 'none'}; ended {node.failures}")
        self._end()
        for copy in self._copies:
            copy.give_up()

    def _act(self) -> None:
        """Do one thing that may come next."""
        rng, node = self.rng, self.node
        if node.log is not None and self.traffic is None:
            self._started()
        choices: list[tuple[Callable[[], None], float, str]] = []
        haste = 3 if self._copies else 1  # else a life would be over before its backup
        for thread, weight in zip(node.threads, self._weights, strict=True):
            if thread.busy:
                choices.append((lambda thread=thread: self._advance(thread), weight * haste, f"advance {thread.name}"))
            if thread.results:
                choices.append((lambda thread=thread: node.collect(thread), 1.0, f"collect {thread.name}"))
        if self.traffic is not None and not node.ended:
            choices.append((self._serve, self._traffic_weight, "serve"))
            choices.append((self._tick, 0.15, "tick"))
            if "backup" in self.dimensions:
                choices.append((self._copy, 0.4 + 1.5 * len(self._copies), "copy"))
            if "full" in self.dimensions:
                choices.append((self._fill_or_free, 0.03, "space"))
        if not choices:
            return
        ((action, _, name),) = rng.choices(choices, [weight for _, weight, _ in choices])
        self._tell(name)
        self._fault.watch()
        try:
            action()
        finally:
            self._fault.look_away()
        check_running(self.node, self.model, self.traffic)

    def _advance(self, thread: SimulatedThread) -> None:
        """Let a thread work on for some calls."""
        for _ in range(self.rng.choice((1, 1, 2, 8))):
            if thread.busy:
                thread.advance()

    def _started(self) -> None:
        node = self.node
        found = node.found
        assert found is not None
        self.model.begin(found.rows, self.rows.state.changes, found.ids, found.seqs, found.told, self._contents)
        self.numbers.queue = max(
            self.numbers.queue, found.recovered.next_queue_id - 1, self.rows.state.next_queue_id - 1
        )
        self.traffic = Traffic(node, self.model, self.numbers, self.rng)
        self.streams = StreamTraffic(node, self.model, self.numbers, self.rng, self.traffic)
        node.watch = self.streams.note_floors
        if found.seqs:
            node.guard(node.first_batch)

    def _serve(self) -> None:
        traffic, rng = self.traffic, self.rng
        assert traffic is not None
        for _ in range(rng.choice((1, 1, 2, 4))):
            try:
                if "streams" in self.dimensions and rng.random() < self._streams_share:
                    self.streams.step()
                else:
                    traffic.step()
            except Violation:
                raise
            except Exception as error:  # noqa: BLE001 - the session ends, the node goes on
                self._tell(f"  raised {error!r}")
                traffic.clean = False
                self.node.swallow(error)
        if rng.random() < 0.8:
            self.node.end_turn()

    def _tick(self) -> None:
        self.clock.advance(self.rng.choice((100, 100, 1_000, 5_000, 30_000)))
        self.node.tick()

    def _fill_or_free(self) -> None:
        power = self.disk.power
        if power.capacity < 1 << 30:
            power.capacity = 1 << 40
        else:
            power.capacity = self.disk.octets() + self.rng.randrange(0, 2_000)
            self.points["full"] += 1

    def _copy(self) -> None:
        """Begin a backup, or go on with one."""
        try:
            self._go_on_copying()
        except Violation:
            raise
        except Exception as error:  # noqa: BLE001 - the operator is told, the node goes on
            self.node.swallow(error)

    def _go_on_copying(self) -> None:
        traffic, log = self.traffic, self.node.log
        assert traffic is not None
        assert log is not None
        if len(self._copies) < COPIES_MAX and self.rng.random() < 0.3:
            # Definitions that an exception left in doubt are not compared.
            if traffic.clean and not log.failed and not log.full:
                copy = Copy(self.node, self.model)
                self._copies += [copy] if copy.held is not None else []
        elif self._copies:
            copy = self.rng.choice(self._copies)
            if any(copy.step() for _ in range(self.rng.randrange(1, 5))):
                self._copies.remove(copy)
            self.points["backup"] += copy.checked
            copy.checked = False

    # -- crashes -------------------------------------------------------------------------------------------------------

    def _promised(self) -> tuple[int, int]:
        """Return which commit positions of the log and the definitions are completed."""
        log = self.node.log
        return (log.completed if log is not None and self.traffic is not None else self._begun), self._defined()

    _begun = 0
    _checkpointed = False  # in any life

    def _defined(self) -> int:
        return max(self.node.store.completed, self.model.base_commit_position)

    def _maybe_inspect(self) -> None:
        if self.rng.random() >= self._sampling:
            return
        # A start that still reads the log has promised what the life before did.
        if self.traffic is None:
            return
        if "kill" in self.dimensions:
            seen = (self.node.changes, *self._promised())
            if seen != self._seen:
                self._seen = seen
                self._inspect("kill", self.disk.killed())
        if "power" in self.dimensions:
            self._inspect("power", self.disk.cut_off(self.rng))

    def _inspect(self, how: str, disk: SimulatedDisk, *, all_of_it: bool = False) -> Findings:
        self._tell(f"  inspect {how}")
        completed, defined = self._promised()
        self.points[how] += 1
        closely, read = (all_of_it or self.rng.random() < share for share in (0.1, 0.35))
        rows = self.node.rows.durable
        log = self.node.log
        self._checkpointed = self._checkpointed or (log is not None and bool(log.maintenance.checkpoints))
        told = "" if self._checkpointed else NO_CHECKPOINT
        return inspect(self.model, disk, rows, completed, defined, closely=closely, read=read, told=told)

    # -- the end of a life ---------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Come to rest or not; stop, be killed or lose power; and see what is there."""
        rng, node = self.rng, self.node
        power = self.disk.power
        self._tell("end")
        if self.traffic is not None and rng.random() < 0.6:
            power.capacity = 1 << 40
            self._rest()
            if not node.ended and "stop" in self.dimensions and rng.random() < 0.5:
                self._stop()
        power.capacity = 1 << 40
        how = "kill" if rng.random() < 0.4 and "kill" in self.dimensions else "power"
        if "cache" not in self.dimensions and self.disk.doubtful:
            how = "power"  # else a start would read what a failed sync will never bring to the disk
        rows = node.rows.durable
        started = self.traffic is not None
        after = self.disk.killed(SimulatedPower()) if how == "kill" else self.disk.cut_off(rng)
        if started:
            self._inspect(how, after.killed(), all_of_it=True)
            if "missing" in self.dimensions:
                self._lose_a_file(after.killed())
        self.disk, self.rows = after, rows

    def _rest(self) -> None:
        """Let everything come to its end, and see that it does."""
        node = self.node
        self._fault.armed = False
        for copy in self._copies:
            copy.release()
        self._settle_down()
        if node.ended:
            return
        assert self.traffic is not None
        check_rest(node, self.traffic.fetches + self.streams.reads)
        for queue_id in self.model.queues:
            if queue_id not in self.model.deleted and (seqs := self.model.live(queue_id)):
                self.traffic.read(queue_id, seqs)
        self._settle_down(turns=2)
        self.points["rest"] += 1

    def _settle_down(self, turns: int = 12) -> None:
        """Work until there is nothing to do, for some turns of the clock."""
        for turn in range(turns):
            self._work()
            if self.node.ended:
                return
            self.clock.advance(30_000 if turn == 8 else 1_100)
            self.node.tick()
        self._work()

    def _work(self) -> None:
        node = self.node
        for _ in range(PATIENCE):
            busy = [thread for thread in node.threads if thread.busy or thread.results]
            if not busy:
                break
            for thread in busy:
                if thread.results:
                    node.collect(thread)
                else:
                    thread.advance()
        else:
            raise Violation("stuck", "there is always more to do")
        check_running(self.node, self.model, self.traffic)

    def _stop(self) -> None:
        """Stop as the daemon does: the log first, then the definitions."""
        node, model = self.node, self.model
        log = node.log
        assert log is not None
        told = model.delivered()
        self._fault.armed = False
        if not self._wait_for(lambda done: log.close(rows_from(told), done)) or log.failed:
            return
        if not self._wait_for(lambda done: node.store.stop(lambda: done(None))):
            return
        self.points["stop"] += 1
        found = self._inspect("kill", self.disk.killed())
        if node.ended:
            return
        if not found.recovered.clean and (log.completed or found.recovered.checkpoints[0]):
            raise Violation("stop", "a clean stop is not found to be one")
        told_seqs = {(queue_id, first): (times, due_ms) for queue_id, first, _, times, due_ms in told}
        if found.told != told_seqs:
            raise Violation("deliveries", f"after a clean stop {found.told}, not {told_seqs}")

    def _wait_for(self, call: Any) -> bool:
        ended: list[Any] = []
        call(ended.append)
        node = self.node
        for _ in range(PATIENCE):
            if ended:
                return ended == [None]
            for thread in node.threads:
                if thread.results:
                    node.collect(thread)
                elif thread.busy:
                    thread.advance()
        raise Violation("stuck", "a stop does not end")

    # -- what is missing -----------------------------------------------------------------------------------------------

    def _lose_a_file(self, disk: SimulatedDisk) -> None:
        """Take a file away: a start reports it, unless nobody misses anything; of two checkpoints nobody misses one."""
        log = open_log(disk)
        checkpoints = [name for name in log.files if checkpoint_commit_position(name) is not None]
        names = sorted([*checkpoints, *(name for name in log.files if segment_number(name) is not None)])
        if not names:
            return
        name = self.rng.choice(names)
        spare = name in checkpoints and len(checkpoints) > 1
        del log.files[name]
        completed, _ = self._promised()
        self.points["missing"] += 1
        try:
            recovered = recovery(disk, definitions_of(self.node.rows.durable)).run()
        except DiskError:
            return
        if recovered.reports and not spare:
            return
        found = findings(self.node.rows.durable, recovered)
        try:
            self.model.check(set(found.ids), found.seqs, completed)
        except Violation as error:
            raise Violation("silent", f"{name} is missing, and said is {recovered.reports}: {error}") from error
