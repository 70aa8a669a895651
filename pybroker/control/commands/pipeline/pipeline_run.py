"""pipeline_run: the telemetry becomes tables, and the tables reports."""

from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.pipeline import JOBS, SECTION, MasterArg, RemoteArg, TelemetryArg, WarehouseArg, options
from pybroker.control.spec import Arg, Command, Node


class Args(NamedTuple):
    """The job, its window of time, and the folders."""

    job: Annotated[str, Arg(f"one of {', '.join(JOBS)}, or all", "", "job", choices=(*JOBS, "all"))]
    since: Annotated[
        str, Arg("start: an age such as 7d (default) before the end, or a time in UTC", "--since", "time")
    ] = "7d"
    until: Annotated[str | None, Arg("end: an age such as 36h, or a time in UTC; default: now", "--until", "time")] = (
        None
    )
    warehouse: WarehouseArg = None
    telemetry: TelemetryArg = None
    master: MasterArg = None
    remote: RemoteArg = None


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the words."""
    del node
    until = ["--until", args.until] if args.until else []
    return {"words": ["run", args.job, "--since", args.since, *until, *options(args)]}


COMMAND = Command(
    name="pipeline_run",
    section=SECTION,
    summary="Runs jobs of the pipeline on Spark, which turn telemetry into tables and reports",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    app="any",
    offline="pipeline",
)
