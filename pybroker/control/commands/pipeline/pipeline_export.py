"""pipeline_export: the messages of a queue become Parquet files."""

from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.pipeline import SECTION, MasterArg, RemoteArg, options
from pybroker.control.spec import Arg, Command, Node, VHostArg


class Args(NamedTuple):
    """The queue, the destination, and the connection."""

    queue: Annotated[str, Arg("queue to drain", "--queue", "queue", names="queue")]
    to: Annotated[str, Arg("folder for the Parquet files and the checkpoint", "--to", "folder", names="file")]
    vhost: VHostArg = "/"
    available_now: Annotated[bool, Arg("stop after writing the messages available now", "--available-now")] = False
    host: Annotated[str | None, Arg("host of the broker; default: localhost", "--host", "host")] = None
    port: Annotated[int | None, Arg("port of the broker", "--port", "port")] = None
    username: Annotated[str | None, Arg("user; default: guest", "--username", "user", names="user")] = None
    password_file: Annotated[str | None, Arg("file with the password", "--password-file", "file", names="file")] = None
    uri_file: Annotated[
        str | None,
        Arg(
            "file with amqps://user:password@host/vhost, instead of these options",
            "--uri-file",
            "file",
            names="file",
        ),
    ] = None
    master: MasterArg = None
    remote: RemoteArg = None


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the words."""
    del node
    words = ["export", "--queue", args.queue, "--to", args.to]
    if args.uri_file is None:
        words += ["--vhost", args.vhost]
    for name in ("host", "port", "username", "password_file", "uri_file"):
        value = getattr(args, name)
        words += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    return {"words": [*words, *["--available-now"] * args.available_now, *options(args)]}


COMMAND = Command(
    name="pipeline_export",
    section=SECTION,
    summary="Drains a queue to Parquet files; acknowledges each message after it is written",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    app="any",
    offline="pipeline",
)
