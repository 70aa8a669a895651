"""consumers: which queues have consumers that are missing, stuck, idle, or give everything back?

A row of a minute tells how that minute ended; until the next row nothing happened. So each row is two spans: its own
minute, and the silence behind it. Spans of one state that follow one another are one stretch; five minutes
are a finding.
"""

from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pybroker.humanize import counted
from pybroker.spark.pipeline.columns.codes import is_next, shifted
from pybroker.spark.pipeline.columns.minutes import MINUTE_S, Minutes, by_thing, foremost, sums, together, zero
from pybroker.spark.pipeline.jobs import levels, people
from pybroker.spark.pipeline.jobs.levels import GONE_S
from pybroker.verdicts import meanings, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pybroker.spark.pipeline.columns.minutes import Key
    from pybroker.spark.pipeline.run import Run

# Everything is sampled every five minutes: behind a longer silence nothing is known.
SILENCE_S: Final = 360
STATES: Final = ("missing", "stuck", "idle")
STRETCH_MINUTES: Final = 5
# One of several consumers is stuck if it has a full prefetch, and what it got is so old.
STUCK_MS: Final = 300_000
# Of what is handed out, more than this was handed out before; of what is settled, more than this was rejected.
STORM: Final = 0.5
REJECTS: Final = 0.5
MESSAGES_MIN: Final = 100
BAD: Final = words("consumers")

COLUMNS: Final = (
    ("vhost", "virtual host"),
    ("queue", "queue"),
    ("verdict", ", ".join(word for word, _ in meanings("consumers"))),
    ("ongoing", "whether consumers were missing, stuck or idle at the end"),
    ("missing_minutes", "minutes in which messages waited and there was no consumer"),
    ("stuck_minutes", "minutes in which consumers held messages while nothing was delivered or settled"),
    ("idle_minutes", "minutes in which messages waited, consumers held none, and nothing was delivered"),
    ("longest_minutes", "the longest stretch of these"),
    ("longest_from", "when that began"),
    ("delivered", "messages delivered"),
    ("redelivered", "of these, delivered before"),
    ("redelivered_share", "the second as a part of the first"),
    ("rejected", "messages rejected, or delivered too often"),
    ("rejected_share", "these as a part of what was settled"),
    ("unacked_max", "most messages not acknowledged"),
    ("ready_max", "most messages that waited"),
    ("consumers", "consumers at the end"),
    ("node", "node"),
)

READ: Final = (
    *("publish", "ack", "expired", "deliver", "redeliver", "rejected", "delivery_limited", "unacked_max", "ready_max"),
    *("ready_last", "consumers_last", "unacked_last", "consumers_full_min", "unacknowledged_age_ms_last", "deleted"),
)
# People see the others first.
DETAILS: Final = frozenset(
    {"idle_minutes", "longest_from", "delivered", "redelivered", "rejected", "unacked_max", "ready_max", "node"}
)


class Queue(NamedTuple):
    """A queue with its verdict: the fields are COLUMNS."""

    vhost: str
    queue: str
    verdict: str
    ongoing: bool
    missing_minutes: int
    stuck_minutes: int
    idle_minutes: int
    longest_minutes: int
    longest_from: datetime | None
    delivered: int
    redelivered: int
    redelivered_share: float | None
    rejected: int
    rejected_share: float | None
    unacked_max: int
    ready_max: int
    consumers: int
    node: str


class Stretch(NamedTuple):
    """The longest stretch of a queue; seconds in each of STATES, and the end of the last stretch."""

    minutes: int
    begin: int
    state: str
    seconds: dict[str, int]
    last_end: int


class Stretches:
    """Spans of one state that follow one another, added up date by date."""

    def __init__(self) -> None:
        nothing = pa.schema([(name, pa.int64()) for name in ("n", "state", "begin", "end")]).empty_table()
        # The last one of each queue may go on.
        self._open = self._longest = nothing
        self._seconds = nothing.drop_columns(["begin"]).rename_columns(["n", "state", "seconds"])

    def add(self, spans: pa.Table) -> None:
        """Take spans, of n, state, begin and end, that are later than those before."""
        found = pa.concat_tables([self._open, spans]).sort_by([("n", "ascending"), ("begin", "ascending")])
        n, state, begin, end = (found[name].combine_chunks() for name in self._open.column_names)
        is_new = pc.invert(_all(is_next([n, state]), pc.fill_null(pc.equal(begin, shifted(end)), False)))
        numbered = found.append_column("number", pc.cumulative_sum(is_new.cast(pa.int64())))
        made = {"begin": ("begin", "min"), "end": ("end", "max")}
        one = by_thing(numbered, made, ("n", "state", "number"))
        last = by_thing(one, {"number": ("number", "max")})["number"].combine_chunks()
        is_last = pc.is_in(one["number"], value_set=last)
        self._open = one.filter(is_last).select(self._open.column_names)
        self._close(one.filter(pc.invert(is_last)).select(self._open.column_names))

    def found(self, things: "Sequence[Key]") -> "dict[Key, Stretch]":
        """Return what there is of each queue."""
        ends = {row["n"]: row["end"] for row in self._open.to_pylist()}
        self._close(self._open)
        seconds: dict[int, dict[str, int]] = {}
        for row in self._seconds.to_pylist():
            seconds.setdefault(row["n"], {})[STATES[row["state"]]] = row["seconds"]
        return {
            things[n]: Stretch(
                (row["end"] - row["begin"]) // MINUTE_S, row["begin"], STATES[row["state"]], seconds[n], ends[n]
            )
            for row in self._longest.to_pylist()
            for n in (row["n"],)
        }

    def _close(self, stretches: pa.Table) -> None:
        length = pc.subtract(stretches["end"], stretches["begin"])
        more = stretches.select(["n", "state"]).append_column("seconds", length)
        self._seconds = sums(pa.concat_tables([self._seconds, more]), ("n", "state"))
        both = pa.concat_tables([self._longest, stretches])
        both = both.append_column("length", pc.subtract(both["end"], both["begin"]))
        self._longest = foremost(foremost(both, "length", "max"), "begin", "max").drop_columns(["length"])


def spans(rows: pa.Table, node_end: pa.Array) -> pa.Table:
    """Return the spans with a state, one of STATES by its number, of rows whose next ones are known.

    `node_end` has for each when its node was seen last, in seconds since 1970.
    """
    begin, own_end = rows["at"], pc.add(rows["at"], MINUTE_S)
    following = pc.coalesce(rows["next_at"], node_end, own_end)
    silent = pc.min_element_wise(following, pc.add(begin, SILENCE_S))
    none_delivered = pc.equal(rows["deliver"], 0)
    none_settled = pc.equal(pc.add(rows["ack"], zero(rows, "rejected")), 0)
    always = pa.scalar(True)
    parts = [
        {"begin": begin, "end": own_end, "state": _state(rows, none_delivered, none_settled)},
        {"begin": own_end, "end": silent, "state": _state(rows, always, always)},
    ]
    both = pa.concat_tables([pa.table({"n": rows["n"], **part}) for part in parts])
    is_deleted = pc.fill_null(rows["deleted"], False)
    lives = pc.invert(pa.concat_tables([pa.table({"is": is_deleted})] * 2)["is"])
    is_some = _all(lives, pc.is_valid(both["state"]), pc.greater(both["end"], both["begin"]))
    return both.filter(is_some).select(["n", "state", "begin", "end"])


def _state(rows: pa.Table, none_delivered: Any, none_settled: Any) -> Any:
    """Return the number of each row's state; empty for none."""
    waits, some = pc.greater(rows["ready_last"], 0), pc.greater(rows["consumers_last"], 0)
    held = pc.coalesce(rows["unacked_last"], rows["unacked_max"], 0)
    # One message each may take its time; more than one each, and nothing goes on.
    is_full = _all(pc.greater(zero(rows, "consumers_full_min"), 0), pc.greater(held, rows["consumers_last"]))
    still = _all(none_delivered, none_settled, pc.greater(held, 0), pc.or_kleene(waits, is_full))
    one_of_several = _all(is_full, pc.greater_equal(zero(rows, "unacknowledged_age_ms_last"), STUCK_MS))
    states = (
        _all(waits, pc.invert(some)),
        _all(some, pc.or_kleene(still, one_of_several)),
        _all(waits, some, none_delivered, pc.equal(held, 0)),
    )
    found = pa.scalar(None, pa.int64())
    for number, is_it in reversed([*enumerate(states)]):
        found = pc.if_else(pc.fill_null(is_it, False), number, found)
    return found


def _all(*conditions: Any) -> Any:
    return reduce(pc.and_kleene, conditions)


_HOW: Final = dict.fromkeys(
    ("publish", "ack", "expired", "delivered", "redelivered", "rejected"), "sum"
) | dict.fromkeys(("unacked_max", "ready_max"), "max")


def _sums(rows: pa.Table) -> pa.Table:
    made = {
        **{name: zero(rows, name) for name in ("publish", "ack", "expired")},
        "delivered": zero(rows, "deliver"),
        "redelivered": zero(rows, "redeliver"),
        "rejected": pc.add(zero(rows, "rejected"), zero(rows, "delivery_limited")),
        **{name: rows[name] for name in ("n", "unacked_max", "ready_max")},
    }
    return by_thing(pa.table(made), {name: (name, how) for name, how in _HOW.items()})


def consumers(minutes: Minutes, lost: "Mapping[Key, int]", nodes: "Mapping[str, int]") -> list[Queue]:
    """Return a row for each queue, the worst first.

    `lost` has messages that losses tell of, `nodes` when the last minute of each node began.
    """
    parts, ends, stretches = [], [], Stretches()
    for rows in minutes.followed():
        parts.append(_sums(rows))
        ends.append(foremost(rows.select(["n", "at", "consumers_last", "deleted"]), "at", "max"))
        node_ends = [nodes[key[0]] + MINUTE_S if key[0] in nodes else None for key in minutes.things]
        stretches.add(spans(rows, pa.array(node_ends, pa.int64()).take(rows["n"])))
    if not parts:
        return []
    last = {row["n"]: row for row in foremost(pa.concat_tables(ends), "at", "max").to_pylist()}
    known = stretches.found(minutes.things)
    found = []
    for row in together(parts, _HOW).to_pylist():
        key = minutes.things[row["n"]]
        found.append(judge(key, row | last[row["n"]], known.get(key), lost.get(key, 0), nodes.get(key[0])))
    return sorted(found, key=_order)


def judge(key: "Key", row: dict[str, Any], longest: Stretch | None, lost: int, node_s: int | None) -> Queue:
    """Return a queue with its verdict, by its counts and how it was at the end."""
    node, vhost, queue = key
    rejected = max(row["rejected"], lost)
    row = row | {
        "rejected": rejected,
        "redelivered_share": _share(row["redelivered"], row["delivered"]),
        "rejected_share": _share(rejected, row["ack"] + rejected),
        "deleted": bool(row["deleted"]) or (node_s is not None and node_s - row["at"] > GONE_S),
    }
    verdict = _verdict(row, longest)
    is_ongoing = longest is not None and node_s is not None and longest.last_end >= node_s + MINUTE_S
    in_state = longest.seconds if longest else {}
    return Queue(
        vhost=vhost,
        queue=queue,
        verdict=verdict,
        ongoing=is_ongoing and verdict in BAD,
        **{f"{name}_minutes": in_state.get(name, 0) // MINUTE_S for name in STATES},
        longest_minutes=longest.minutes if longest else 0,
        longest_from=datetime.fromtimestamp(longest.begin, UTC) if longest else None,
        **{name: row[name] for name in ("delivered", "redelivered", "redelivered_share", "rejected", "rejected_share")},
        unacked_max=row["unacked_max"],
        ready_max=row["ready_max"],
        consumers=row["consumers_last"],
        node=node,
    )


def _order(row: Queue) -> tuple[Any, ...]:
    return row.verdict not in BAD, -row.longest_minutes, -row.redelivered, row.node, row.vhost, row.queue


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole > 0 else None


def _verdict(row: dict[str, Any], longest: Stretch | None) -> str:
    if row["deleted"]:
        return "deleted"
    if row["rejected"] >= MESSAGES_MIN and row["rejected_share"] > REJECTS:
        return "rejects"
    state = longest.state if longest is not None and longest.minutes >= STRETCH_MINUTES else ""
    # Retries and delays are built of queues in which messages expire: nobody is expected there.
    expires = row["expired"] > 0 and row["expired"] * 2 >= row["publish"]
    if state == "stuck" or (state == "missing" and not expires):
        return state
    if row["redelivered"] >= MESSAGES_MIN and row["redelivered_share"] > STORM:
        return "redelivery storm"
    return "idle" if state == "idle" else "fine"


def run(run: "Run") -> dict[str, Any]:
    """Write the report."""
    found = consumers(levels.of_queues(run, READ), levels.lost(run), levels.seen(run))
    living = [row for row in found if row.verdict != "deleted"]
    summary = [("queues", len(living)), *((each, sum(row.verdict == each for row in found)) for each in BAD)]
    bad = [row for row in found if row.verdict in BAD]
    return run.report(
        "consumers", COLUMNS, found, details=DETAILS, summary=summary, advice=people.foremost(map(advice, bad))
    )


def advice(row: Queue) -> str:
    """Return what is wrong with a queue's consumers, in a sentence."""
    name = f"queue '{row.queue}' in vhost '{row.vhost}'"
    lasted = f"for {counted(row.longest_minutes, 'minute')}"
    match row.verdict:
        case "rejects":
            return f"consumers of {name} rejected {row.rejected_share:.0%} of its messages, {row.rejected:,}"
        case "redelivery storm":
            return f"of {row.delivered:,} deliveries of {name}, {row.redelivered:,} had been delivered before"
        case "missing":
            return f"{name} had messages and no consumer {lasted}"
        case "stuck":
            return f"consumers of {name} held up to {counted(row.unacked_max, 'message')} and did nothing {lasted}"
        case _:
            return f"{name} had messages and consumers, but delivered nothing {lasted}"
