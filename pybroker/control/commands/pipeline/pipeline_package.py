"""pipeline_package: the connector and the pipeline as one file for a cluster."""

from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.pipeline import SECTION
from pybroker.control.spec import Arg, Command, Node


class Args(NamedTuple):
    """The destination."""

    output: Annotated[
        str,
        Arg(
            "zip file to write; default: pybroker_spark.zip; run_job.py is written beside it",
            "-o --output",
            "file",
            names="file",
        ),
    ] = "pybroker_spark.zip"


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the words."""
    del node
    return {"words": ["package", "--output", args.output]}


COMMAND = Command(
    name="pipeline_package",
    section=SECTION,
    summary="Writes the connector and the pipeline to a zip file for spark-submit --py-files, and prints how "
    "to submit it",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    app="any",
    offline="pipeline",
)
