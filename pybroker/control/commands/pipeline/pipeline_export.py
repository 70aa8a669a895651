"""pipeline_export: the messages of a queue, or of a stream, become Parquet files."""

from os import EX_USAGE
from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.pipeline import (
    SECTION,
    HostArg,
    MasterArg,
    PasswordFileArg,
    RemoteArg,
    StreamArg,
    StreamPortArg,
    SuperStreamArg,
    UriFileArg,
    UserArg,
    connection,
    options,
)
from pybroker.control.spec import Arg, BadArguments, Command, Node, VHostArg

PARQUET = "parquet"


class Args(NamedTuple):
    """The queue or stream, the destination, and the connection."""

    to: Annotated[
        str,
        Arg("folder for the files and the progress; with --format iceberg the table", "--to", "folder", names="file"),
    ]
    queue: Annotated[str | None, Arg("queue to drain", "--queue", "queue", names="queue")] = None
    stream: StreamArg = None
    super_stream: SuperStreamArg = None
    vhost: VHostArg = "/"
    available_now: Annotated[
        bool, Arg("stop after writing the messages available now, instead of waiting for more", "--available-now")
    ] = False
    format: Annotated[
        str,
        Arg(
            "of a stream: parquet, written without Spark, or delta or iceberg, by Spark with your jars",
            "--format",
            choices=(PARQUET, "delta", "iceberg"),
        ),
    ] = PARQUET
    checkpoint: Annotated[
        str | None, Arg("folder for the progress of delta and iceberg", "--checkpoint", "folder", names="file")
    ] = None
    host: HostArg = None
    port: Annotated[int | None, Arg("port of the broker", "--port", "port")] = None
    stream_port: StreamPortArg = None
    username: UserArg = None
    password_file: PasswordFileArg = None
    uri_file: UriFileArg = None
    master: MasterArg = None
    remote: RemoteArg = None


def check(args: Args) -> None:
    """Raise BadArguments for what does not go together."""
    given = [name for name in ("queue", "stream", "super_stream") if getattr(args, name) is not None]
    if not given:
        raise BadArguments("Bad argument: one of --queue, --stream and --super-stream is needed", EX_USAGE)
    if len(given) > 1:
        options_ = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise BadArguments(f"Bad argument: {options_} cannot be combined", EX_USAGE)
    if args.format != PARQUET and (args.queue is not None or args.checkpoint is None):
        raise BadArguments(f"Bad argument: --format {args.format} needs a stream and --checkpoint", EX_USAGE)
    if args.queue is None and args.port is not None:
        raise BadArguments("Bad argument: --port is for a queue; of a stream it is --stream-port", EX_USAGE)
    if args.queue is not None and args.stream_port is not None:
        raise BadArguments("Bad argument: --stream-port is for a stream", EX_USAGE)
    if args.queue is None and args.format == PARQUET and (args.master or args.remote):
        raise BadArguments(
            "Bad argument: a stream is written to Parquet without Spark: no --master, no --remote", EX_USAGE
        )
    if args.format == PARQUET and args.checkpoint is not None:
        raise BadArguments("Bad argument: --checkpoint is for --format delta and iceberg", EX_USAGE)


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the words."""
    del node
    words = ["export", "--to", args.to, *connection(args)]
    words += [] if args.queue is None else ["--queue", args.queue]
    words += [] if args.checkpoint is None else ["--format", args.format, "--checkpoint", args.checkpoint]
    return {"words": [*words, *["--available-now"] * args.available_now, *options(args)]}


COMMAND = Command(
    name="pipeline_export",
    section=SECTION,
    summary="Writes a queue to Parquet files, acknowledging what is written, or a stream, which keeps its messages",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
    one_of=(("queue", "stream", "super_stream"),),
    app="any",
    offline="pipeline",
)
