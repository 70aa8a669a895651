"""The log held still for a process that copies or reads its files, as long as that is connected.

The plan lists the files that are held; the node goes on writing after them, and removes nothing.
"""

import os
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.spec import Early, Progress, Refused

if TYPE_CHECKING:
    from pathlib import Path

    from pybroker.store.journal.journal import Journal

# Pause between two looks whether the checkpoint is on disk, and whether the caller is still there.
POLL_S: Final = 0.01
HOLD_S: Final = 0.2


def hold(
    journal: "Journal", node: str, folder: "Path", pause: Callable[[float], object]
) -> Generator[Progress | Early, None, None]:
    """Say what is held as soon as it is all on disk; hold it until the generator is closed. Raises Refused."""
    maintenance = journal.maintenance
    while (held := maintenance.hold()) is None:
        _check(journal)
        pause(POLL_S)
        yield Progress(0, 0)
    commit_position, segments = held
    try:
        while not (written := maintenance.is_held(commit_position)):
            _check(journal)
            if written is None:
                raise Refused("cannot hold the log: its checkpoint could not be written; try again", os.EX_TEMPFAIL)
            pause(POLL_S)
            yield Progress(0, 0)
        plan: dict[str, Any] = {"node": node, "data_dir": str(folder), "ticket": commit_position, "segments": segments}
        yield Early(plan)
        while True:
            pause(HOLD_S)
            yield Progress(0, 0)
    finally:
        maintenance.release(commit_position)


def _check(journal: "Journal") -> None:
    """Raise Refused if nothing more comes to the disk."""
    reason = journal.failed or journal.full or journal.stalled or (journal.maintenance.closed and "the node stops")
    if reason:
        raise Refused(f"cannot hold the log: {reason}", os.EX_UNAVAILABLE)
