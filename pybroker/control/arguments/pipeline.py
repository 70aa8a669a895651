"""Arguments that the commands of the pipeline share: folders of its tables, and words that its program takes."""

from typing import Annotated, Any, Final, NamedTuple

from pybroker.control.spec import Arg

SECTION: Final = "Pipeline"
JOBS: Final = (
    "ingest",
    "rollup",
    "backlog",
    "blocked",
    "alarms",
    "capacity",
    "unroutable",
    "consumers",
    "forecast",
    "accounting",
    "slo",
    "trends",
    "retention",
)

WarehouseArg = Annotated[
    str | None,
    Arg("folder of the tables; default: warehouse in the node's data folder", "--warehouse", "folder", names="file"),
]
TelemetryArg = Annotated[
    str | None,
    Arg("folder of the telemetry; default: telemetry in the node's data folder", "--telemetry", "folder", names="file"),
]
MasterArg = Annotated[str | None, Arg("Spark master: local[2], spark://host:7077, yarn, k8s://...", "--master", "url")]
RemoteArg = Annotated[
    str | None, Arg("Spark Connect server with access to the same folders: sc://host:15002", "--remote", "url")
]

StreamArg = Annotated[str | None, Arg("stream to read", "--stream", "stream", names="queue")]
SuperStreamArg = Annotated[
    str | None, Arg("super stream, all partitions of which are read", "--super-stream", "stream", names="exchange")
]
StreamPortArg = Annotated[
    int | None, Arg("port of the stream protocol; default: 5552, or 5551 with TLS", "--stream-port", "port")
]
HostArg = Annotated[str | None, Arg("host of the broker; default: localhost", "--host", "host")]
UserArg = Annotated[str | None, Arg("user; default: guest", "--username", "user", names="user")]
PasswordFileArg = Annotated[str | None, Arg("file with the password", "--password-file", "file", names="file")]
UriFileArg = Annotated[
    str | None,
    Arg("file with amqps://user:password@host/vhost, instead of these options", "--uri-file", "file", names="file"),
]
CONNECTION: Final = ("stream", "super_stream", "stream_port", "host", "port", "username", "password_file", "uri_file")


class ReportArgs(NamedTuple):
    """How to show a report, and when it is bad news."""

    format: Annotated[
        str | None,
        Arg(
            "table, json, csv, or html (a standalone page with plots)",
            "--format",
            choices=("table", "json", "csv", "html"),
        ),
    ] = None
    details: Annotated[bool, Arg("show all columns, not just the chosen ones; json and csv have all", "--details")] = (
        False
    )
    fresh: Annotated[bool, Arg("run the pipeline first, which takes a while", "--fresh")] = False
    fail_on: Annotated[
        str | None,
        Arg("exit with 1 if a row matches: 'held_ms>60000', 'verdict==grows', or any", "--fail-on", "condition"),
    ] = None
    max_age: Annotated[
        str | None,
        Arg(
            "exit with 66 if the newest telemetry in the report is older: 90m, 3h or 1d; 2h with --fail-on",
            "--max-age",
            "age",
        ),
    ] = None
    warehouse: WarehouseArg = None
    telemetry: TelemetryArg = None
    master: MasterArg = None
    remote: RemoteArg = None


def report(name: str, args: ReportArgs) -> dict[str, Any]:
    """Return which report is asked for, and the words that make it anew."""
    return {"report": name, "words": ["run", "ingest", "rollup", name, *options(args)]}


def connection(args: Any) -> list[str]:
    """Return the words that say what is read, and where."""
    words = [] if args.uri_file is not None else ["--vhost", args.vhost]
    for name in CONNECTION:
        value = getattr(args, name, None)
        words += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    return words


def options(args: Any) -> list[str]:
    """Return the words of those options that were given and that the program takes by the same name."""
    names = ("warehouse", "telemetry", "master", "remote")
    given = [(name, getattr(args, name, None)) for name in names]
    return [word for name, value in given if value is not None for word in (f"--{name}", value)]
