"""The jobs, in the order in which `all` runs them; the file of a job is loaded when it is needed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run

JOBS: Final = {
    "ingest": "convert telemetry files to tables; set invalid lines aside",
    "rollup": "aggregate samples to minutes and hours, totals to counts",
    "backlog": "find growing and full queues, when they will be full, and their consumers",
    "blocked": "find blocked and throttled connections, with durations and causes",
    "alarms": "find shortages of memory and disk space, and the queues that grew before",
    "capacity": "recommend memory and disk limits by replaying candidates",
    "unroutable": "find unroutable and dead-lettered messages",
    "consumers": "find queues whose consumers are missing, stuck, idle, or requeue or reject everything",
    "forecast": "find when memory, disk space and limits of queues will be used up",
    "accounting": "sum up what virtual hosts, users and publishers use",
    "slo": "compare ages of messages with the targets of their queues",
    "trends": "compare lag, rejects and dead letters with former weeks",
    "retention": "delete expired dates",
}
# Jobs with a result for `pybrokerctl report`.
REPORTS: Final = (
    *("backlog", "blocked", "alarms", "capacity", "unroutable", "consumers"),
    *("forecast", "accounting", "slo", "trends"),
)


class Job(Protocol):
    """The shape of a job's module."""

    def run(self, run: "Run") -> dict[str, Any]:
        """Do it; return its figures."""


def load(name: str) -> Job:
    """Return the job called `name`, one of JOBS."""
    assert name in JOBS, name
    job: Job = import_module(f"{__name__}.{name}")
    return job
