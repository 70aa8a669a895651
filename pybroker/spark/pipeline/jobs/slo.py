"""slo: do queues keep their targets, the age of the message at the head, and the time to consume?

The time to consume is what a message that arrives now has to wait: what is ahead of it, at the rate of deliveries in
its minute, and no less than the head's age. A row of a minute stands until the next row, six minutes at most. Targets
are in the file rules.toml of the warehouse, else in the policies of queues.
"""

import fnmatch
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.humanize import lasting
from pybroker.spark.pipeline.alerts.rules import Target, load
from pybroker.spark.pipeline.columns.minutes import MICROSECONDS, MINUTE_S, Minutes, by_thing, foremost, together
from pybroker.spark.pipeline.jobs import levels, people
from pybroker.spark.pipeline.jobs.levels import QUEUE
from pybroker.verdicts import meanings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pybroker.spark.pipeline.columns.minutes import Key
    from pybroker.spark.pipeline.run import Run

AGES: Final = ("head_age", "time_to_consume")
STANDS_S: Final = 360

COLUMNS: Final = (
    ("vhost", "virtual host"),
    ("queue", "queue"),
    ("verdict", ", ".join(word for word, _ in meanings("slo"))),
    ("head_age_s", "highest age of the oldest ready message"),
    ("head_age_target_s", "its target"),
    ("head_age_kept", "part of the time in which it was kept"),
    ("time_to_consume_s", "longest time to consume"),
    ("time_to_consume_target_s", "its target"),
    ("time_to_consume_kept", "part of the time in which it was kept"),
    ("share", "part of the time in which the targets are to be kept"),
    ("missed_s", "seconds in which one was not"),
    ("budget_left", "part of the time that may be missed and was not; negative beyond"),
    ("known_s", "seconds of which the ages are known"),
    ("node", "node"),
)
DETAILS: Final = frozenset({"share", "known_s", "node"})


POLICY: Final = tuple(f"{name}_target_ms" for name in AGES)
READ: Final = ("ready_last", "ready_max", "head_age_ms_max", "deliver", "deleted", "last_ts", *POLICY)
_LATE: Final = tuple(f"{name}_late_s" for name in AGES)
_HOW: Final = dict.fromkeys(("head_age_s", "time_to_consume_s"), "max") | dict.fromkeys(
    ("known_s", "missed_s", *_LATE), "sum"
)


def ages(minutes: Minutes, targets: "Sequence[Target]") -> list[dict[str, Any]]:
    """Return for each queue its ages, its target, and for how long that was not kept."""
    parts, ends, found = [], [], _Targets(targets)
    for rows in minutes.followed():
        part = _ages(rows, _limits(rows, found.limits(minutes.things).take(rows["n"])))
        parts.append(by_thing(part, {name: (name, how) for name, how in _HOW.items()}))
        ends.append(foremost(rows.select(["n", "at", *POLICY]), "at", "max"))
    if not parts:
        return []
    last = {row["n"]: row for row in foremost(pa.concat_tables(ends), "at", "max").to_pylist()}
    every = together(parts, _HOW).to_pylist()
    keys = [minutes.things[row["n"]] for row in every]
    return [
        row | dict(zip(QUEUE, key, strict=True)) | {"target": found.of[row["n"]] or _of_policy(key, last[row["n"]])}
        for row, key in zip(every, keys, strict=True)
    ]


def _of_policy(key: "Key", row: dict[str, Any]) -> Target | None:
    """Return the target that a queue's policy has at the end; None if it has none."""
    head_age_s, time_to_consume_s = (None if row[name] is None else row[name] / 1_000 for name in POLICY)
    if head_age_s is None and time_to_consume_s is None:
        return None
    _, vhost, queue = key
    return Target(queue, vhost, head_age_s, time_to_consume_s)


def _limits(rows: pa.Table, ruled: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """Return the limits of each row in seconds: those of the rules, else of its policy."""
    is_ruled = pc.is_valid(ruled)
    return {
        name: pc.if_else(
            is_ruled,
            pc.struct_field(ruled, name).cast(pa.float64()),
            pc.divide(rows[f"{name}_target_ms"].cast(pa.float64()), 1_000),
        )
        for name in AGES
    }


class _Targets:
    """The targets of queues, by their numbers: the first that is for one."""

    def __init__(self, targets: "Sequence[Target]") -> None:
        self._targets = targets
        self.of: list[Target | None] = []

    def limits(self, things: "Sequence[Key]") -> pa.Array:
        """Return the limits of each queue, in seconds; those without one are empty."""
        for _, vhost, queue in things[len(self.of) :]:
            mine = (each for each in self._targets if _is_for(each, vhost, queue))
            self.of.append(next(mine, None))
        limits = [None if one is None else {name: getattr(one, f"{name}_s") for name in AGES} for one in self.of]
        return pa.array(limits, pa.struct([(name, pa.int64()) for name in AGES]))


def _is_for(target: Target, vhost: str, queue: str) -> bool:
    return fnmatch.fnmatchcase(queue, target.queue) and fnmatch.fnmatchcase(vhost, target.vhost)


def _ages(rows: pa.Table, limits: "Mapping[str, pa.ChunkedArray]") -> pa.Table:
    """Return the ages of each minute, for how long it stands, and for how long its queue was late."""
    to_next = pc.subtract(rows["next_at"], rows["at"])
    stands = pc.min_element_wise(pc.coalesce(to_next, MINUTE_S), STANDS_S)
    # Nothing waits: nothing is old.
    age_s = pc.divide(rows["head_age_ms_max"].cast(pa.float64()), 1_000)
    head = pc.if_else(pc.fill_null(pc.greater(rows["ready_max"], 0), False), age_s, 0.0)
    # A minute that has just begun is short.
    last, previous = (pc.divide(rows[name], MICROSECONDS) for name in ("last_us", "previous_us"))
    span = pc.min_element_wise(pc.coalesce(pc.subtract(last, previous), MINUTE_S), MINUTE_S)
    ahead = pc.multiply(rows["ready_last"], span).cast(pa.float64())
    delivers = pc.fill_null(pc.greater(rows["deliver"], 0), False)
    rate = pc.divide(ahead, pc.if_else(delivers, rows["deliver"], None))
    waited = pc.if_else(pc.is_valid(rows["head_age_ms_max"]), head, None)
    waits = pc.fill_null(pc.greater(rows["ready_last"], 0), False)
    wait = pc.if_else(waits, pc.max_element_wise(rate, waited), 0.0)
    late = [pc.fill_null(pc.greater(age, limits[name]), False) for age, name in zip((head, wait), AGES, strict=True)]
    times = {name: pc.if_else(is_late, stands, 0) for name, is_late in zip(_LATE, late, strict=True)}
    missed = {"known_s": stands, "missed_s": pc.if_else(pc.or_(*late), stands, 0)}
    found = pa.table({"n": rows["n"], "head_age_s": head, "time_to_consume_s": wait, **missed, **times})
    is_known = pc.or_(pc.is_valid(head), pc.is_valid(wait))
    return found.filter(pc.and_(is_known, pc.invert(pc.fill_null(rows["deleted"], False))))


def judge(one: dict[str, Any]) -> dict[str, Any]:
    """Return what there is to say of a queue of `ages`."""
    target = one["target"]
    if target is None:
        return one | {"verdict": "no target", "missed_s": None}
    targets = {f"{name}_target_s": getattr(target, f"{name}_s") for name in AGES}
    kept = {
        f"{name}_kept": round(1 - one[f"{name}_late_s"] / one["known_s"], 4)
        for name in AGES
        if targets[f"{name}_target_s"] is not None
    }
    allowed = (1 - target.share) * one["known_s"]
    is_missed = any(share < target.share for share in kept.values())
    left = round(1 - one["missed_s"] / allowed, 3)
    told = {"share": target.share, "budget_left": left, "verdict": "missed" if is_missed else "met"}
    return one | kept | targets | told


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    rules = load(run.warehouse.folder)
    found = [judge(row) for row in ages(levels.of_queues(run, READ), rules.targets if rules else ())]
    rank = [word for word, _ in meanings("slo")]
    found.sort(
        key=lambda one: (rank.index(one["verdict"]), one.get("budget_left") or 0, *(one[name] for name in QUEUE))
    )
    rows = [[one.get(name) for name, _ in COLUMNS] for one in found]
    summary = [(word, sum(one["verdict"] == word for one in found)) for word in rank]
    told = people.foremost(advice(one) for one in found if one["verdict"] == "missed")
    return run.report("slo", COLUMNS, rows, details=DETAILS, summary=summary, advice=told)


def advice(one: dict[str, Any]) -> str:
    """Return how a queue missed its target, in a sentence."""
    missed = [
        f"{label} was above {lasting(1000 * one[f'{name}_target_s'])} for {1 - one[f'{name}_kept']:.1%} of the time, "
        f"at most {lasting(1000 * one[f'{name}_s'])}"
        for name, label in (("head_age", "the age of the head"), ("time_to_consume", "the time to consume"))
        if one.get(f"{name}_kept") is not None and one[f"{name}_kept"] < one["share"]
    ]
    return f"queue '{one['queue']}' in vhost '{one['vhost']}': {'; '.join(missed)}"
