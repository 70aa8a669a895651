"""pipeline_follow: tables and reports are kept new, until it is ended."""

from os import EX_USAGE
from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.pipeline import (
    SECTION,
    HostArg,
    MasterArg,
    PasswordFileArg,
    RemoteArg,
    StreamPortArg,
    TelemetryArg,
    UriFileArg,
    UserArg,
    WarehouseArg,
    connection,
    options,
)
from pybroker.control.spec import Arg, BadArguments, Command, Node, VHostArg


class Args(NamedTuple):
    """The begin of the reports' window, and the folders."""

    since: Annotated[
        str, Arg("start of the reports: an age such as 7d (default), or a time in UTC", "--since", "time")
    ] = "7d"
    warehouse: WarehouseArg = None
    telemetry: TelemetryArg = None
    source: Annotated[
        str,
        Arg(
            "files, of a node on this machine, or streams: its stream amq.pybroker.telemetry, from anywhere",
            "--from",
            choices=("files", "streams"),
        ),
    ] = "files"
    vhost: VHostArg = "/"
    host: HostArg = None
    stream_port: StreamPortArg = None
    username: UserArg = None
    password_file: PasswordFileArg = None
    uri_file: UriFileArg = None
    master: MasterArg = None
    remote: RemoteArg = None


def check(args: Args) -> None:
    """Raise BadArguments for what does not go together."""
    if args.source == "streams":
        if args.telemetry is not None:
            raise BadArguments("Bad argument: --telemetry is for --from files", EX_USAGE)
        return
    for name in ("host", "stream_port", "username", "password_file", "uri_file"):
        if getattr(args, name) is not None:
            raise BadArguments(f"Bad argument: --{name.replace('_', '-')} is for --from streams", EX_USAGE)


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the words."""
    del node
    words = ["follow", "--since", args.since, *options(args)]
    return {"words": [*words, "--from", "streams", *connection(args)] if args.source == "streams" else words}


COMMAND = Command(
    name="pipeline_follow",
    section=SECTION,
    summary="Keeps the tables and reports of the pipeline at most two minutes old, until it is interrupted",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
    app="any",
    offline="pipeline",
)
