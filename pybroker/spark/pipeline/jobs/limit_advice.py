"""The recommendation for a limit: leave it, or type a command. Pure; the history comes as a row of capacity's `needs`.

A command has to be worth typing. A limit is raised if it set the alarm, or if by a week of history the worst ten
minutes would. It is never lowered with less than a week of history, and then only if it did harm: memory that the
kernel and the garbage collector need, a disk alarm that was set long before anything was in danger.
"""

import math
from typing import Any, Final, NamedTuple

# Of a week most, so that a node that was restarted once and the default window of seven days are enough.
HISTORY_S_MIN: Final = 6 * 86_400
# Less says nothing, not even that a limit is too low: the fastest change takes ten minutes alone.
HISTORY_S_LEAST: Final = 3_600
# Beyond this memory is to be bought: the garbage collector and the kernel need the rest.
WATERMARK_MAX: Final = 0.8
# The default: nothing lower is worth a command.
WATERMARK_USUAL: Final = 0.4
STEP: Final = 0.05
DISK_LIMITS: Final = tuple(n * 1_000_000 for n in (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000))
PAGING_MIN, PAGING_MAX = 0.3, 0.9
MIB: Final = 1 << 20
TOO_LITTLE: Final = "less than an hour of history says nothing yet"


class Choice(NamedTuple):
    """The limit to have. Without a `command` it is the one in force; `setting` is the command's line for good."""

    label: str
    octets: int
    why: str
    command: str = ""
    setting: str = ""


def is_enough(need: Any) -> bool:
    """Tell whether there is so much history that it tells what never happens."""
    return bool(need.seen_s >= HISTORY_S_MIN)


def watermark(need: Any) -> float:
    """Return the part of the memory that holds what was used and the fastest rise, in steps of 0.05."""
    part = float((need.mem_p999 + (need.rise or 0)) / need.mem_total)
    return round(min(WATERMARK_MAX, max(STEP, math.ceil(round(part / STEP, 6)) * STEP)), 2)


def memory(need: Any) -> Choice:
    """Return which memory limit to have."""
    force, total, wanted = need.mem_limit, need.mem_total, watermark(need)
    label = size(force) if need.watermark is None else f"{need.watermark:g}"
    needed = f"{mib(need.mem_p999)} in use and the fastest rise in ten minutes, {mib(need.rise or 0)}"
    fired, enough = need.mem_peak > force, is_enough(need)
    if need.seen_s < HISTORY_S_LEAST:
        return Choice(label, force, TOO_LITTLE)
    if int(wanted * total) > force and (fired or enough):
        return _watermark(wanted, total, f"{needed}, do not fit into {label}")
    if enough and force > WATERMARK_MAX * total:
        lower = max(wanted, WATERMARK_USUAL)
        return _watermark(lower, total, f"above {WATERMARK_MAX:g} the system itself runs short, and {needed}, fit")
    if fired:
        why = f"that was a peak of {mib(need.mem_peak)}; {needed}, fit"
    elif enough:
        why = f"{needed}, fit"
    else:
        why = "there is too little history to say more"
    return Choice(label, force, why)


def disk(need: Any) -> Choice:
    """Return which free disk limit to have."""
    force, fall = need.disk_limit, need.fall or 0
    wanted = next((limit for limit in DISK_LIMITS if limit >= fall), DISK_LIMITS[-1])
    fell = f"the fastest fall in ten minutes, {mib(fall)},"
    fired = need.disk_least < force
    if need.seen_s < HISTORY_S_LEAST:
        return Choice(size(force), force, TOO_LITTLE)
    if wanted > force and fall > force:
        if wanted > need.disk_last:
            why = f"{fell} takes more than it keeps free, but just {mib(need.disk_last)} are free: make room"
            return Choice(size(force), force, why)
        return _free(wanted, f"{fell} takes more than it keeps free")
    if wanted < force and fired and is_enough(need):
        return _free(wanted, f"{mib(need.disk_least)} were free at least, and {fell} leaves time with less")
    why = f"{fell} leaves time to react" if fall else "disk space never fell"
    return Choice(size(force), force, why if is_enough(need) else f"{why}, as far as this little history tells")


def paging(need: Any, limit: int) -> float:
    """Return from which part of a limit on messages must leave memory so that the fastest rise does not reach it."""
    part = 1 - (need.rise or 0) / limit if limit else PAGING_MIN
    return round(min(PAGING_MAX, max(PAGING_MIN, math.floor(round(part / STEP, 6)) * STEP)), 2)


def size(octets: int) -> str:
    """Return octets as commands take them: 2GB, 500MB, else plain."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if octets >= factor and octets % factor == 0:
            return f"{octets // factor}{unit}"
    return str(octets)


def mib(octets: int) -> str:
    """Return octets for people."""
    return f"{octets / MIB:,.0f} MiB" if octets >= 10 * MIB else f"{octets / MIB:.1f} MiB"


def _watermark(part: float, total: int, why: str) -> Choice:
    command = f"pybrokerctl set_vm_memory_high_watermark {part:g}"
    return Choice(f"{part:g}", int(part * total), why, command, f"vm_memory_high_watermark.relative = {part:g}")


def _free(octets: int, why: str) -> Choice:
    label = size(octets)
    return Choice(label, octets, why, f"pybrokerctl set_disk_free_limit {label}", f"disk_free_limit.absolute = {label}")
