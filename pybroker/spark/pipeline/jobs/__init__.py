"""The jobs, in the order in which `all` runs them; the file of a job is loaded when it is needed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run

JOBS: Final = {
    "ingest": "the daemon's files become tables, once each; lines that are none are kept aside",
    "rollup": "samples become minutes and hours, totals become counts",
    "backlog": "which queues grow, when are they full, and who drains them?",
    "blocked": "who was held back, for how long, and why?",
    "alarms": "when was what short, how badly, and which queues grew before?",
    "capacity": "which memory and disk limits are right? Candidates are replayed over what happened",
    "unroutable": "what goes nowhere, and what died?",
    "consumers": "which queues have consumers that are missing, idle, or give everything back?",
    "retention": "dates that are too old go",
}
# Those that have a result for `pybrokerctl report`.
REPORTS: Final = ("backlog", "blocked", "alarms", "capacity", "unroutable", "consumers")


class Job(Protocol):
    """The shape of a job's module."""

    def run(self, run: "Run") -> dict[str, Any]:
        """Do it; return its figures."""


def load(name: str) -> Job:
    """Return the job called `name`, one of JOBS."""
    assert name in JOBS, name
    job: Job = import_module(f"{__name__}.{name}")
    return job
